//! The operation in primitive tensor operations: the readable version, and what a backend without
//! a kernel of its own runs. Right on every backend, `Dispatch` included, which is how tests and
//! benchmarks reach it.

use alloc::vec;

use burn::backend::Backend;
use burn::backend::TensorMetadata;
use burn::backend::tensor::FloatTensor;
use burn::tensor::{FloatDType, Shape, Slice};

use super::{Affine, Gradient, Gradients, Settings, Wanted};

/// `y` of x's shape and type; rstd, `[.., 1]`, in f64 where x is f64 and in f32 elsewhere.
///
/// Without elements there is no work, which not every backend can do: CubeCL's CPU runtime fails on
/// an elementwise operation or a sum over nothing.
pub fn rms_norm<B: Backend>(
    x: FloatTensor<B>,
    affine: Affine<B>,
    settings: Settings,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let shape = x.shape();
    let mut rstd_shape = shape.clone();
    rstd_shape[shape.num_dims() - 1] = 1;
    let output = float_dtype::<B>(&x);
    let statistic = statistic(output);
    if shape.num_elements() == 0 {
        let rstd = B::float_empty(rstd_shape, &x.device(), statistic);
        return (x, rstd);
    }
    let x = B::float_cast(as_rows::<B>(x), statistic);

    let head = columns::<B>(x.clone(), 0, settings.stat_len);
    let sum = B::float_sum_dim(B::float_mul(head.clone(), head), COLUMNS);
    let mean = B::float_mul_scalar(sum, (1.0 / settings.stat_len as f64).into());
    let rstd = B::float_recip(B::float_sqrt(B::float_add_scalar(
        mean,
        settings.epsilon.into(),
    )));

    let normed = B::float_mul(x, rstd.clone());
    let y = match affine {
        Affine::None => normed,
        Affine::Scale { gamma } => B::float_mul(normed, as_row::<B>(gamma, statistic)),
        Affine::ScaleShift { gamma, beta } => B::float_add(
            B::float_mul(normed, as_row::<B>(gamma, statistic)),
            as_row::<B>(beta, statistic),
        ),
    };
    (
        B::float_reshape(B::float_cast(y, output), shape),
        B::float_reshape(rstd, rstd_shape),
    )
}

/// The gradients of [`rms_norm`]; the formulas are derived in `docs/math.md`.
pub fn rms_norm_backward<B: Backend>(
    dy: FloatTensor<B>,
    x: FloatTensor<B>,
    rstd: FloatTensor<B>,
    affine: Affine<B>,
    settings: Settings,
    wanted: Wanted,
) -> Gradients<B> {
    let shape = x.shape();
    let output = float_dtype::<B>(&x);
    let statistic = statistic(output);
    let (gamma, beta) = affine.parameters();
    if shape.num_elements() == 0 {
        return without_rows::<B>(dy, gamma, beta, wanted);
    }
    let dy = B::float_cast(as_rows::<B>(dy), statistic);
    let rstd = as_rows::<B>(rstd);
    let normed = B::float_mul(B::float_cast(as_rows::<B>(x), statistic), rstd.clone());

    let dgamma = match gamma {
        Some(gamma) if wanted.dgamma => {
            let terms = B::float_mul(dy.clone(), normed.clone());
            Gradient::Computed(sum_rows::<B>(terms, float_dtype::<B>(gamma)))
        }
        _ => Gradient::Skipped,
    };
    let dbeta = match beta {
        Some(beta) if wanted.dbeta => {
            Gradient::Computed(sum_rows::<B>(dy.clone(), float_dtype::<B>(beta)))
        }
        _ => Gradient::Skipped,
    };
    let dx = if wanted.dx {
        let a = match gamma {
            Some(gamma) => B::float_mul(dy, as_row::<B>(gamma.clone(), statistic)),
            None => dy,
        };
        let dx = input_gradient::<B>(a, normed, rstd, settings.stat_len);
        Gradient::Computed(B::float_reshape(B::float_cast(dx, output), shape))
    } else {
        Gradient::Skipped
    };
    Gradients { dx, dgamma, dbeta }
}

/// The gradients where there are no rows: dx has no elements, dgamma and dbeta are zeros.
fn without_rows<B: Backend>(
    dy: FloatTensor<B>,
    gamma: Option<&FloatTensor<B>>,
    beta: Option<&FloatTensor<B>>,
    wanted: Wanted,
) -> Gradients<B> {
    let zeros = |parameter: Option<&FloatTensor<B>>, wanted: bool| match parameter {
        Some(parameter) if wanted => Gradient::Computed(B::float_zeros(
            parameter.shape(),
            &parameter.device(),
            float_dtype::<B>(parameter),
        )),
        _ => Gradient::Skipped,
    };
    Gradients {
        dgamma: zeros(gamma, wanted.dgamma),
        dbeta: zeros(beta, wanted.dbeta),
        dx: match wanted.dx {
            true => Gradient::Computed(dy),
            false => Gradient::Skipped,
        },
    }
}

/// `rstd·(a_j − [j < k]·x̂_j·(Σ_i a_i·x̂_i)/k)`, the sum over all columns.
fn input_gradient<B: Backend>(
    a: FloatTensor<B>,
    normed: FloatTensor<B>,
    rstd: FloatTensor<B>,
    stat_len: usize,
) -> FloatTensor<B> {
    let row_len = a.shape()[COLUMNS];
    let c = B::float_sum_dim(B::float_mul(a.clone(), normed.clone()), COLUMNS);
    let c = B::float_mul_scalar(c, (1.0 / stat_len as f64).into());

    let head = B::float_sub(
        columns::<B>(a.clone(), 0, stat_len),
        B::float_mul(columns::<B>(normed, 0, stat_len), c),
    );
    let corrected = if stat_len == row_len {
        head
    } else {
        B::float_cat(vec![head, columns::<B>(a, stat_len, row_len)], COLUMNS)
    };
    B::float_mul(corrected, rstd)
}

/// Rows and columns: some backends limit the rank of arithmetic, not of a reshape.
const ROWS: usize = 0;
const COLUMNS: usize = 1;

/// `[.., n]` as `[rows, n]`.
fn as_rows<B: Backend>(tensor: FloatTensor<B>) -> FloatTensor<B> {
    let shape = tensor.shape();
    let row_len = shape[shape.num_dims() - 1];
    let rows = shape.num_elements().checked_div(row_len).unwrap_or(0);
    B::float_reshape(tensor, Shape::from(vec![rows, row_len]))
}

/// `[d_model]` as `[1, d_model]` in the statistic's type.
fn as_row<B: Backend>(parameter: FloatTensor<B>, statistic: FloatDType) -> FloatTensor<B> {
    let dims = vec![1, parameter.shape()[0]];
    B::float_reshape(B::float_cast(parameter, statistic), Shape::from(dims))
}

/// The sum of all rows, `[row_len]`.
fn sum_rows<B: Backend>(terms: FloatTensor<B>, dtype: FloatDType) -> FloatTensor<B> {
    let shape = Shape::from(vec![terms.shape()[COLUMNS]]);
    let sum = B::float_reshape(B::float_sum_dim(terms, ROWS), shape);
    B::float_cast(sum, dtype)
}

fn columns<B: Backend>(tensor: FloatTensor<B>, start: usize, end: usize) -> FloatTensor<B> {
    let [rows, row_len] = tensor.shape().dims();
    if start == 0 && end == row_len {
        return tensor;
    }
    B::float_slice(tensor, &[Slice::from(0..rows), Slice::from(start..end)])
}

fn float_dtype<B: Backend>(tensor: &FloatTensor<B>) -> FloatDType {
    tensor.dtype().into()
}

fn statistic(x: FloatDType) -> FloatDType {
    match x {
        FloatDType::F64 => FloatDType::F64,
        _ => FloatDType::F32,
    }
}
