//! RMSNorm with a gate beside it: the output norm of Mamba-2 and of Gated DeltaNet.

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
mod options;

pub use contract::{GatedGradients, GatedRmsNormOps, GatedSettings, GatedWanted};
pub use options::GateOrder;

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use super::rms_norm::{RmsNormOptions, Rounding};
use super::{axis, checks};

/// The name in which arguments are refused.
const OPERATION: &str = "gated_rms_norm";

/// Root mean square normalisation of the last axis of `x`, multiplied by `silu(gate)` before or after.
///
/// ```text
/// norm(u)_j = u_j / sqrt(mean(u_i², i < k) + epsilon) · gamma_j (+ beta_j)      silu(v) = v / (1 + exp(−v))
///
/// y = norm(x) · silu(gate)       GateOrder::AfterNorm     Qwen3-Next
/// y = norm(x · silu(gate))       GateOrder::BeforeNorm    Mamba-2
/// ```
///
/// Everything is computed in f32 (f64 for f64 inputs), and the output is rounded once. Mamba-2 of
/// several groups takes the statistic of each: [`with_groups`](RmsNormOptions::with_groups). With
/// another axis than the last, the rows are copied first.
///
/// # Shapes
///
/// - x, gate: `[.., d_model]`, of one type: f64, f32, f16, bf16 or Flex32
/// - gamma, beta: `[d_model]`, of any float type
/// - output: as `x`, of `x`'s type
///
/// # Panics
///
/// As [`rms_norm`](super::rms_norm::rms_norm()), and if
/// - `gate` has another shape, type or device than `x`;
/// - `options` ask for more than one rounding.
///
/// A tensor with more elements than the device can index is refused when the call runs, which with
/// Fusion is later.
///
/// # Example
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use burn_fused_norm::{GateOrder, RmsNormOptions, gated_rms_norm};
///
/// let device = Device::flex();
/// let x = Tensor::<2>::from_floats([[3.0, 4.0]], &device);
/// let gate = Tensor::<2>::from_floats([[0.0, 100.0]], &device);
/// let options = RmsNormOptions::new(1e-6);
/// let y = gated_rms_norm(x, gate, None, None, GateOrder::AfterNorm, options);
/// y.into_data().assert_approx_eq::<f32>(
///     &[[0.0, 113.137085]].into(),
///     burn::tensor::Tolerance::default(),
/// );
/// ```
pub fn gated_rms_norm<const D: usize>(
    x: Tensor<D>,
    gate: Tensor<D>,
    gamma: Option<Tensor<1>>,
    beta: Option<Tensor<1>>,
    order: GateOrder,
    options: RmsNormOptions,
) -> Tensor<D> {
    assert!(
        options.rounding == Rounding::Once,
        "{OPERATION}: rounding is {:?}, expected Once",
        options.rounding
    );
    let d_model = checks::d_model(OPERATION, &x, options.axis);
    checks::assert_like_x(OPERATION, "gate", &gate, &x);
    let affine = checks::affine(OPERATION, &x, gamma, beta, d_model);
    let settings = GatedSettings {
        norm: options.settings_of(OPERATION, d_model),
        order,
    };
    let [x, gate] = [x, gate].map(|tensor| axis::to_last(tensor, options.axis).into_dispatch());
    let y = Tensor::from_dispatch(Dispatch::gated_rms_norm(x, gate, affine, settings));
    axis::from_last(y, options.axis)
}
