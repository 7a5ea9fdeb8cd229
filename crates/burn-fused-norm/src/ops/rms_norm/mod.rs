//! RMSNorm and pRMSNorm over the last axis of a tensor, over equal parts of it, or over another axis.

#[cfg(feature = "autodiff")]
pub(super) mod autodiff;
#[allow(deprecated)] // Of NdArray, which the generated dispatch names.
pub(super) mod contract;
#[cfg(feature = "cube")]
pub(super) mod cube;
pub mod decomposed;
#[cfg(feature = "flex")]
mod flex;
#[cfg(feature = "fusion")]
pub(super) mod fusion;
#[cfg(any(feature = "cube", feature = "flex", feature = "ndarray"))]
pub(super) mod native;
#[allow(deprecated)] // By Burn as a whole.
#[cfg(feature = "ndarray")]
mod ndarray;
mod options;

pub use contract::{Affine, Gradient, Gradients, RmsNormOps, Settings, Wanted};
pub use options::{RmsNormOptions, Rounding};

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use super::{axis, checks};

/// The name in which arguments are refused.
const OPERATION: &str = "rms_norm";

/// Root mean square normalisation of the last axis of `x`, or of another one, without a module.
///
/// ```text
/// y_j = x_j / sqrt(mean(x_i², i < k) + epsilon) · gamma_j (+ beta_j)
/// ```
///
/// `k` is the length of the last axis, or `⌈d_model·p⌉` with
/// [`partial`](RmsNormOptions::with_partial) set to p (pRMSNorm: Zhang & Sennrich 2019,
/// [arXiv:1910.07467](https://arxiv.org/abs/1910.07467)). The statistic is computed in f32, in f64
/// for f64 inputs; the output is rounded once. [`RmsNormOptions`] has the conventions of other models:
/// `1 + gamma`, LLaMA's order of roundings, groups of features, each with a statistic of its own, another axis.
///
/// # Shapes
///
/// - x: `[.., d_model]`, of type f64, f32, f16, bf16 or Flex32
/// - gamma, beta: `[d_model]`, of any float type
/// - output: as `x`, of `x`'s type
///
/// # Panics
///
/// On the caller's thread and before anything is queued, naming the values and what was expected:
/// - the axis is empty or not there, or `gamma` or `beta` has another length;
/// - `beta` is given without `gamma`;
/// - `epsilon` is not finite or not greater than 0, `partial` is not in (0, 1], the axis is not whole
///   `groups`;
/// - a tensor is quantised or of a type that its device lacks, or the tensors are on different devices.
///
/// A tensor with more elements than the device can index is refused when the call runs, which with
/// Fusion is later.
///
/// # Example
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use burn_fused_norm::{RmsNormOptions, rms_norm};
///
/// let device = Device::flex();
/// let x = Tensor::<2>::from_floats([[3.0, 4.0, 5.0, 6.0]], &device);
/// let y = rms_norm(x, None, None, RmsNormOptions::new(1e-6).with_partial(Some(0.5)));
/// // The root mean square of the first two features, 3 and 4, is 3.535534.
/// y.into_data().assert_approx_eq::<f32>(
///     &[[0.848528, 1.131371, 1.414214, 1.697056]].into(),
///     burn::tensor::Tolerance::default(),
/// );
/// ```
pub fn rms_norm<const D: usize>(
    x: Tensor<D>,
    gamma: Option<Tensor<1>>,
    beta: Option<Tensor<1>>,
    options: RmsNormOptions,
) -> Tensor<D> {
    let d_model = checks::d_model(OPERATION, &x, options.axis);
    let affine = checks::affine(OPERATION, &x, gamma, beta, d_model);
    let settings = options.settings_of(OPERATION, d_model);
    let x = axis::to_last(x, options.axis);
    let y = Tensor::from_dispatch(Dispatch::rms_norm(x.into_dispatch(), affine, settings));
    axis::from_last(y, options.axis)
}

/// [`rms_norm`] of every head by a gamma of its own: QK-norm with one weight a head and feature.
///
/// ```text
/// y_hj = x_hj / sqrt(mean(x_hi², i < k) + epsilon) · gamma_hj
/// ```
///
/// # Shapes
///
/// - x: `[.., heads, head_dim]`, of type f64, f32, f16, bf16 or Flex32
/// - gamma: `[heads, head_dim]`, of any float type
/// - output: as `x`, of `x`'s type
///
/// # Panics
///
/// As [`rms_norm`], and if
/// - `x` has one axis only, or `gamma` another shape than the last two of `x`;
/// - `options` ask for groups, or for another axis than the last.
///
/// A tensor with more elements than the device can index is refused when the call runs, which with
/// Fusion is later.
///
/// # Example
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use burn_fused_norm::{RmsNormOptions, per_head_rms_norm};
///
/// let device = Device::flex();
/// let queries = Tensor::<4>::random([2, 16, 8, 64], Distribution::Default, &device);
/// let gamma = Tensor::<2>::ones([8, 64], &device);
/// let normed = per_head_rms_norm(queries, gamma, RmsNormOptions::new(1e-6));
/// assert_eq!(normed.dims(), [2, 16, 8, 64]);
/// ```
pub fn per_head_rms_norm<const D: usize>(
    x: Tensor<D>,
    gamma: Tensor<2>,
    options: RmsNormOptions,
) -> Tensor<D> {
    const OPERATION: &str = "per_head_rms_norm";
    assert!(
        options.groups == 1 && options.axis == 0,
        "{OPERATION}: groups is {} and axis {}, expected 1 and 0",
        options.groups,
        options.axis
    );
    let head_dim = checks::d_model(OPERATION, &x, 0);
    let shape = gamma.dims();
    assert!(
        D > 1 && shape == [x.shape()[D - 2], head_dim],
        "{OPERATION}: gamma has shape {shape:?}, x has {:?}, expected its last two axes",
        x.dims()
    );
    checks::assert_beside(OPERATION, "gamma", &gamma, &x);
    let settings = Settings {
        gamma_rows: shape[0],
        ..options.settings_of(OPERATION, head_dim)
    };
    if shape[0] == 0 {
        return x;
    }
    let gamma = gamma.into_dispatch();
    let affine = Affine::Scale { gamma };
    Tensor::from_dispatch(Dispatch::rms_norm(x.into_dispatch(), affine, settings))
}
