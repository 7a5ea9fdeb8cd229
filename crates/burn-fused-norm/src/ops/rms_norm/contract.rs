//! What every backend owes.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, ExtensionType, backend_extension};

#[cfg(any(feature = "flex", feature = "ndarray"))]
use burn::backend::TensorMetadata;
#[cfg(any(feature = "flex", feature = "ndarray"))]
use burn::tensor::DType;

use super::decomposed;
#[cfg(feature = "fusion")]
use super::fusion;

/// What is done to the normalised values: nothing, a scale, or a scale and a shift.
#[derive(Debug, Clone, ExtensionType)]
#[cfg_attr(feature = "fusion", extension_type(fusion))]
pub enum Affine<B: Backend> {
    /// `y = x·rstd`
    None,
    /// `y = x·rstd·gamma`
    Scale {
        /// `[d_model]`, of any float type
        gamma: FloatTensor<B>,
    },
    /// `y = x·rstd·gamma + beta`
    ScaleShift {
        /// `[d_model]`, of any float type
        gamma: FloatTensor<B>,
        /// `[d_model]`, of any float type
        beta: FloatTensor<B>,
    },
}

impl<B: Backend> Affine<B> {
    /// gamma and beta, as far as there are any.
    pub fn parameters(&self) -> (Option<&FloatTensor<B>>, Option<&FloatTensor<B>>) {
        match self {
            Self::None => (None, None),
            Self::Scale { gamma } => (Some(gamma), None),
            Self::ScaleShift { gamma, beta } => (Some(gamma), Some(beta)),
        }
    }
}

/// The run-time numbers of an RMSNorm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// How many features of a row, from its start, the statistic reads.
    pub stat_len: usize,
    /// Added to the mean square inside the root.
    pub epsilon: f64,
}

/// Which gradients a backward pass has to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The gradient of x.
    pub dx: bool,
    /// The gradient of gamma.
    pub dgamma: bool,
    /// The gradient of beta.
    pub dbeta: bool,
}

/// One gradient of a backward pass: there exactly if it was wanted.
#[derive(Debug, Clone, ExtensionType)]
#[cfg_attr(feature = "fusion", extension_type(fusion))]
pub enum Gradient<B: Backend> {
    /// Not wanted.
    Skipped,
    /// Computed.
    Computed(FloatTensor<B>),
}

impl<B: Backend> Gradient<B> {
    /// `to_tensor(sums, type of the parameter)` where both are there.
    #[cfg(any(feature = "flex", feature = "ndarray"))]
    pub(super) fn zip<S>(
        sums: Option<S>,
        parameter: Option<&FloatTensor<B>>,
        to_tensor: impl FnOnce(S, DType) -> FloatTensor<B>,
    ) -> Self {
        match (sums, parameter) {
            (Some(sums), Some(parameter)) => Self::Computed(to_tensor(sums, parameter.dtype())),
            _ => Self::Skipped,
        }
    }
}

/// The gradients of an RMSNorm.
#[derive(Debug, Clone, ExtensionType)]
#[cfg_attr(feature = "fusion", extension_type(fusion))]
pub struct Gradients<B: Backend> {
    /// `[.., d_model]`, of x's type
    #[extension_type]
    pub dx: Gradient<B>,
    /// `[d_model]`, of gamma's type
    #[extension_type]
    pub dgamma: Gradient<B>,
    /// `[d_model]`, of beta's type
    #[extension_type]
    pub dbeta: Gradient<B>,
}

/// RMSNorm over the last axis: forward, forward that keeps what the backward needs, backward.
///
/// The default bodies are right on any backend; a backend overrides them to be fast. Arguments are
/// checked by [`rms_norm`](super::rms_norm), not here.
#[backend_extension(
    Flex: cfg(feature = "flex"),
    NdArray: cfg(feature = "ndarray"),
    Cube: cfg(feature = "cube"),
    Fusion: cfg(feature = "fusion"),
    Autodiff: cfg(feature = "autodiff"),
)]
pub trait RmsNormOps: Backend {
    /// `y`, of x's shape and type. Inference: no rstd is written.
    #[fusion(meta = fusion::forward)]
    fn rms_norm(
        x: FloatTensor<Self>,
        #[extension_type] affine: Affine<Self>,
        settings: Settings,
    ) -> FloatTensor<Self> {
        decomposed::rms_norm::<Self>(x, affine, settings).0
    }

    /// `y`, and the rstd of every row: `[.., 1]`, f64 where x is f64 and f32 elsewhere.
    #[fusion(meta = fusion::forward_with_rstd)]
    fn rms_norm_with_rstd(
        x: FloatTensor<Self>,
        #[extension_type] affine: Affine<Self>,
        settings: Settings,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        decomposed::rms_norm::<Self>(x, affine, settings)
    }

    /// The wanted gradients, from the gradient `dy` of `y` and what the forward pass had and saved.
    #[fusion(meta = fusion::backward)]
    fn rms_norm_backward(
        dy: FloatTensor<Self>,
        x: FloatTensor<Self>,
        rstd: FloatTensor<Self>,
        #[extension_type] affine: Affine<Self>,
        settings: Settings,
        wanted: Wanted,
    ) -> Gradients<Self> {
        decomposed::rms_norm_backward::<Self>(dy, x, rstd, affine, settings, wanted)
    }
}
