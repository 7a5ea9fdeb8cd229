//! The operation in primitive tensor operations: the readable version, and what a backend without
//! a kernel of its own runs.

use burn::backend::Backend;
use burn::backend::TensorMetadata;
use burn::backend::tensor::FloatTensor;

use crate::ops::rms_norm::decomposed::{
    as_rows, float_dtype, normalise, rstd_of_nothing, scale_and_shift, statistic,
};
use crate::ops::rms_norm::{Affine, Settings};

/// `y`, and `sum = x + residual`, of x's shape and type; rstd, of [`Settings::rstd_shape`], in f64
/// where x is f64 and in f32 elsewhere. What is normalised is the sum before it is rounded.
pub fn add_rms_norm<B: Backend>(
    x: FloatTensor<B>,
    residual: FloatTensor<B>,
    affine: Affine<B>,
    settings: Settings,
) -> (FloatTensor<B>, FloatTensor<B>, FloatTensor<B>) {
    let shape = x.shape();
    let output = float_dtype::<B>(&x);
    if shape.num_elements() == 0 {
        let rstd = rstd_of_nothing::<B>(&x, settings);
        return (x, residual, rstd);
    }
    let wide = |tensor| B::float_cast(as_rows::<B>(tensor, settings), statistic(output));
    let sum = B::float_add(wide(x), wide(residual));
    let (normed, rstd) = normalise::<B>(sum.clone(), settings);
    let y = scale_and_shift::<B>(normed, affine, settings, output);
    (
        B::float_reshape(B::float_cast(y, output), shape.clone()),
        B::float_reshape(B::float_cast(sum, output), shape.clone()),
        B::float_reshape(rstd, settings.rstd_shape(&shape)),
    )
}
