//! RMSNorm and pRMSNorm over the last axis of a tensor.

#[cfg(feature = "autodiff")]
mod autodiff;
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
#[cfg(feature = "ndarray")]
mod ndarray;
mod options;

pub use contract::{Affine, Gradient, Gradients, RmsNormOps, Settings, Wanted};
pub use options::RmsNormOptions;

use burn::backend::Dispatch;
use burn::tensor::{DType, Tensor};

/// Root mean square normalisation of the last axis of `x`, without a module.
///
/// ```text
/// y_j = x_j / sqrt(mean(x_i², i < k) + epsilon) · gamma_j (+ beta_j)
/// ```
///
/// `k` is the length of the last axis, or `⌈d_model·p⌉` with
/// [`partial`](RmsNormOptions::with_partial) set to p (pRMSNorm: Zhang & Sennrich 2019,
/// [arXiv:1910.07467](https://arxiv.org/abs/1910.07467)). The statistic is computed in f32, in f64
/// for f64 inputs; the output is rounded once.
///
/// # Shapes
///
/// - x: `[.., d_model]`, of type f64, f32, f16 or bf16
/// - gamma, beta: `[d_model]`, of any float type
/// - output: as `x`, of `x`'s type
///
/// # Panics
///
/// On the caller's thread and before anything is queued, naming the values and what was expected:
/// - the last axis of `x` is empty, or `gamma` or `beta` has another length;
/// - `beta` is given without `gamma`;
/// - `epsilon` is not finite or not greater than 0, `partial` is not in (0, 1];
/// - a tensor is quantised, or the tensors are on different devices.
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
    let d_model = x.shape()[D - 1];
    assert!(
        d_model > 0,
        "rms_norm: the last axis of x is empty ({:?}), expected at least 1 element",
        x.dims()
    );
    assert_float("x", &x);
    for (name, parameter) in [("gamma", &gamma), ("beta", &beta)] {
        if let Some(parameter) = parameter {
            assert_parameter(name, parameter, &x, d_model);
        }
    }

    let affine = match (gamma, beta) {
        (None, None) => Affine::None,
        (Some(gamma), None) => Affine::Scale {
            gamma: gamma.into_dispatch(),
        },
        (Some(gamma), Some(beta)) => Affine::ScaleShift {
            gamma: gamma.into_dispatch(),
            beta: beta.into_dispatch(),
        },
        (None, Some(_)) => panic!("rms_norm: beta is given without gamma, expected both"),
    };

    let settings = options.settings(d_model);
    Tensor::from_dispatch(Dispatch::rms_norm(x.into_dispatch(), affine, settings))
}

fn assert_parameter<const D: usize>(
    name: &str,
    parameter: &Tensor<1>,
    x: &Tensor<D>,
    d_model: usize,
) {
    let [len] = parameter.shape().dims();
    assert!(
        len == d_model,
        "rms_norm: {name} has {len} elements, x has d_model {d_model}"
    );
    assert_float(name, parameter);
    let (expected, found) = (x.device(), parameter.device());
    assert!(
        found == expected,
        "rms_norm: {name} is on {found:?}, x is on {expected:?}"
    );
}

fn assert_float<const D: usize>(name: &str, tensor: &Tensor<D>) {
    let dtype = tensor.dtype();
    assert!(
        matches!(
            dtype,
            DType::F64 | DType::F32 | DType::Flex32 | DType::F16 | DType::BF16
        ),
        "rms_norm: {name} has type {dtype:?}, expected F64, F32, F16 or BF16"
    );
}
