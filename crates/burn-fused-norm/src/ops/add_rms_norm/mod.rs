//! RMSNorm of the sum of two tensors: the end of a residual branch and the norm of the next, in one pass.

#[cfg(feature = "autodiff")]
mod autodiff;
#[allow(deprecated)] // Of NdArray, which the generated dispatch names.
mod contract;
#[cfg(feature = "cube")]
mod cube;
pub mod decomposed;
#[cfg(feature = "flex")]
mod flex;
#[cfg(feature = "fusion")]
mod fusion;
#[cfg(any(feature = "cube", feature = "flex", feature = "ndarray"))]
mod native;
#[allow(deprecated)] // By Burn as a whole.
#[cfg(feature = "ndarray")]
mod ndarray;

pub use contract::AddRmsNormOps;

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use super::rms_norm::RmsNormOptions;
use super::{axis, checks};

/// The name in which arguments are refused.
const OPERATION: &str = "add_rms_norm";

/// Adds `residual` to `x` and normalises the sum. Returns the normalised sum, and the sum.
///
/// ```text
/// sum_j = x_j + residual_j
/// y_j   = sum_j / sqrt(mean(sum_i², i < k) + epsilon) · gamma_j (+ beta_j)
/// ```
///
/// The statistic and the normalisation read the sum as f32 (f64 for f64 inputs), before it is rounded
/// to `x`'s type; the backward pass reads the sum as it was returned. With another axis than the last,
/// the rows are copied first.
///
/// # Shapes
///
/// - x, residual: `[.., d_model]`, of one type: f64, f32, f16, bf16 or Flex32
/// - gamma, beta: `[d_model]`, of any float type
/// - outputs: as `x`, of `x`'s type
///
/// # Panics
///
/// As [`rms_norm`](super::rms_norm::rms_norm()), and if `residual` has another shape, type or device
/// than `x`.
///
/// A tensor with more elements than the device can index is refused when the call runs, which with
/// Fusion is later.
///
/// # Example
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use burn_fused_norm::{RmsNormOptions, add_rms_norm};
///
/// let device = Device::flex();
/// let x = Tensor::<2>::from_floats([[1.0, 2.0]], &device);
/// let residual = Tensor::<2>::from_floats([[2.0, 2.0]], &device);
/// let (y, sum) = add_rms_norm(x, residual, None, None, RmsNormOptions::new(1e-6));
/// assert_eq!(sum.to_string(), Tensor::<2>::from_floats([[3.0, 4.0]], &device).to_string());
/// y.into_data().assert_approx_eq::<f32>(
///     &[[0.848528, 1.131371]].into(),
///     burn::tensor::Tolerance::default(),
/// );
/// ```
pub fn add_rms_norm<const D: usize>(
    x: Tensor<D>,
    residual: Tensor<D>,
    gamma: Option<Tensor<1>>,
    beta: Option<Tensor<1>>,
    options: RmsNormOptions,
) -> (Tensor<D>, Tensor<D>) {
    let d_model = checks::d_model(OPERATION, &x, options.axis);
    checks::assert_like_x(OPERATION, "residual", &residual, &x);
    let affine = checks::affine(OPERATION, &x, gamma, beta, d_model);
    let settings = options.settings_of(OPERATION, d_model);
    let [x, residual] =
        [x, residual].map(|tensor| axis::to_last(tensor, options.axis).into_dispatch());
    let (y, sum) = Dispatch::add_rms_norm(x, residual, affine, settings);
    let output = |tensor| axis::from_last(Tensor::from_dispatch(tensor), options.axis);
    (output(y), output(sum))
}
