//! The operation in primitive tensor operations: the readable version, and what a backend without
//! a kernel of its own runs. Right on every backend, `Dispatch` included, which is how tests and
//! benchmarks reach it.

use alloc::vec;

use burn::backend::Backend;
use burn::backend::TensorMetadata;
use burn::backend::tensor::FloatTensor;
use burn::tensor::{FloatDType, Shape, Slice};

use super::contract::statistic_type;
use super::{Affine, Gradient, Gradients, Rounding, Settings, Wanted};

/// `y` of x's shape and type; rstd, of [`Settings::rstd_shape`], in f64 where x is f64 and in f32
/// elsewhere.
///
/// Without elements there is no work, which not every backend can do: CubeCL's CPU runtime fails on
/// an elementwise operation or a sum over nothing.
pub fn rms_norm<B: Backend>(
    x: FloatTensor<B>,
    affine: Affine<B>,
    settings: Settings,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let shape = x.shape();
    let output = float_dtype::<B>(&x);
    if shape.num_elements() == 0 {
        let rstd = rstd_of_nothing::<B>(&x, settings);
        return (x, rstd);
    }
    let x = B::float_cast(as_rows::<B>(x, settings), statistic(output));
    let (normed, rstd) = normalise::<B>(x, settings);
    let y = scale_and_shift::<B>(normed, affine, settings, output);
    (
        B::float_reshape(B::float_cast(y, output), shape.clone()),
        B::float_reshape(rstd, settings.rstd_shape(&shape)),
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
    if shape.num_elements() == 0 {
        return without_rows::<B>(dy, &affine, wanted);
    }
    let dy = B::float_cast(as_rows::<B>(dy, settings), statistic(output));
    let x = B::float_cast(as_rows::<B>(x, settings), statistic(output));
    let gradients = gradients_of_rows::<B>(dy, x, rstd, &affine, settings, wanted);
    Gradients {
        dx: match gradients.dx {
            Gradient::Computed(dx) => {
                Gradient::Computed(B::float_reshape(B::float_cast(dx, output), shape))
            }
            Gradient::Skipped => Gradient::Skipped,
        },
        ..gradients
    }
}

/// The normalised rows, and each one's rstd, of rows in the statistic's type.
pub(in crate::ops) fn normalise<B: Backend>(
    x: FloatTensor<B>,
    settings: Settings,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let head = columns::<B>(x.clone(), 0, settings.stat_len);
    let sum = B::float_sum_dim(B::float_mul(head.clone(), head), COLUMNS);
    let mean = B::float_mul_scalar(sum, (1.0 / settings.stat_len as f64).into());
    let rstd = B::float_recip(B::float_sqrt(B::float_add_scalar(
        mean,
        settings.epsilon.into(),
    )));
    (B::float_mul(x, rstd.clone()), rstd)
}

/// `normed·gamma + beta`, still in the statistic's type, and as rows of gamma's length.
pub(in crate::ops) fn scale_and_shift<B: Backend>(
    normed: FloatTensor<B>,
    affine: Affine<B>,
    settings: Settings,
    output: FloatDType,
) -> FloatTensor<B> {
    let rounded = |values: FloatTensor<B>| match settings.rounding {
        Rounding::Once => values,
        Rounding::BeforeGamma => B::float_cast(B::float_cast(values, output), statistic(output)),
    };
    let normed = as_gamma_rows::<B>(normed, settings);
    let scaled = |gamma| {
        let factor = factor::<B>(gamma, settings, statistic(output));
        B::float_mul(rounded(normed.clone()), rounded(factor))
    };
    match affine {
        Affine::None => normed,
        Affine::Scale { gamma } => scaled(gamma),
        Affine::ScaleShift { gamma, beta } => B::float_add(
            rounded(scaled(gamma)),
            rounded(as_row::<B>(beta, statistic(output))),
        ),
    }
}

/// The wanted gradients of rows in the statistic's type; dx is in that type too, and still rows.
pub(in crate::ops) fn gradients_of_rows<B: Backend>(
    dy: FloatTensor<B>,
    x: FloatTensor<B>,
    rstd: FloatTensor<B>,
    affine: &Affine<B>,
    settings: Settings,
    wanted: Wanted,
) -> Gradients<B> {
    let statistic = float_dtype::<B>(&x);
    let (gamma, beta) = affine.parameters();
    let rows = x.shape()[ROWS];
    let rstd = B::float_reshape(rstd, Shape::from(vec![rows, 1]));
    let normed = B::float_mul(x, rstd.clone());

    let dgamma = match gamma {
        Some(gamma) if wanted.dgamma => {
            let terms = B::float_mul(dy.clone(), normed.clone());
            Gradient::Computed(sum_rows::<B>(terms, gamma, settings))
        }
        _ => Gradient::Skipped,
    };
    let dbeta = match beta {
        Some(beta) if wanted.dbeta => Gradient::Computed(sum_rows::<B>(dy.clone(), beta, settings)),
        _ => Gradient::Skipped,
    };
    let dx = if wanted.dx {
        let a = match gamma {
            Some(gamma) => {
                let factor = factor::<B>(gamma.clone(), settings, statistic);
                let wide = B::float_mul(as_gamma_rows::<B>(dy, settings), factor);
                as_rows::<B>(wide, settings)
            }
            None => dy,
        };
        Gradient::Computed(input_gradient::<B>(a, normed, rstd, settings.stat_len))
    } else {
        Gradient::Skipped
    };
    Gradients { dx, dgamma, dbeta }
}

/// The gradients where there are no rows: dx has no elements, dgamma and dbeta are zeros.
pub(in crate::ops) fn without_rows<B: Backend>(
    dy: FloatTensor<B>,
    affine: &Affine<B>,
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
    let (gamma, beta) = affine.parameters();
    Gradients {
        dgamma: zeros(gamma, wanted.dgamma),
        dbeta: zeros(beta, wanted.dbeta),
        dx: match wanted.dx {
            true => Gradient::Computed(dy),
            false => Gradient::Skipped,
        },
    }
}

/// The rstd of an x without elements.
pub(in crate::ops) fn rstd_of_nothing<B: Backend>(
    x: &FloatTensor<B>,
    settings: Settings,
) -> FloatTensor<B> {
    let statistic = statistic(float_dtype::<B>(x));
    B::float_empty(settings.rstd_shape(&x.shape()), &x.device(), statistic)
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

/// As `[rows, row_len]`.
pub(in crate::ops) fn as_rows<B: Backend>(
    tensor: FloatTensor<B>,
    settings: Settings,
) -> FloatTensor<B> {
    in_rows_of::<B>(tensor, settings.row_len)
}

/// As `[rows / gamma_rows, gamma_rows·row_len]`: a row meets all of gamma.
fn as_gamma_rows<B: Backend>(tensor: FloatTensor<B>, settings: Settings) -> FloatTensor<B> {
    in_rows_of::<B>(tensor, settings.gamma_rows * settings.row_len)
}

fn in_rows_of<B: Backend>(tensor: FloatTensor<B>, len: usize) -> FloatTensor<B> {
    let rows = tensor.shape().num_elements() / len;
    B::float_reshape(tensor, Shape::from(vec![rows, len]))
}

/// A parameter as one row in the statistic's type.
fn as_row<B: Backend>(parameter: FloatTensor<B>, statistic: FloatDType) -> FloatTensor<B> {
    let dims = vec![1, parameter.shape().num_elements()];
    B::float_reshape(B::float_cast(parameter, statistic), Shape::from(dims))
}

/// What the normalised rows are multiplied by.
fn factor<B: Backend>(
    gamma: FloatTensor<B>,
    settings: Settings,
    statistic: FloatDType,
) -> FloatTensor<B> {
    let gamma = as_row::<B>(gamma, statistic);
    match settings.zero_centered {
        true => B::float_add_scalar(gamma, 1.0.into()),
        false => gamma,
    }
}

/// The sum of all rows that meet the same values of a parameter, in its shape and type.
fn sum_rows<B: Backend>(
    terms: FloatTensor<B>,
    parameter: &FloatTensor<B>,
    settings: Settings,
) -> FloatTensor<B> {
    let sum = B::float_sum_dim(as_gamma_rows::<B>(terms, settings), ROWS);
    let sum = B::float_reshape(sum, parameter.shape());
    B::float_cast(sum, float_dtype::<B>(parameter))
}

fn columns<B: Backend>(tensor: FloatTensor<B>, start: usize, end: usize) -> FloatTensor<B> {
    let [rows, row_len] = tensor.shape().dims();
    if start == 0 && end == row_len {
        return tensor;
    }
    B::float_slice(tensor, &[Slice::from(0..rows), Slice::from(start..end)])
}

pub(in crate::ops) fn float_dtype<B: Backend>(tensor: &FloatTensor<B>) -> FloatDType {
    tensor.dtype().into()
}

pub(in crate::ops) fn statistic(x: FloatDType) -> FloatDType {
    statistic_type(x.into()).into()
}
