//! What every backend owes.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, ExtensionType, backend_extension};

#[cfg(feature = "fusion")]
use super::fusion;
use super::{GateOrder, decomposed};
use crate::ops::rms_norm::{Affine, Gradient, Settings, Wanted};

/// What a gated RMSNorm does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GatedSettings {
    /// The normalisation; its rounding is [`Once`](crate::Rounding::Once), whatever it says.
    pub norm: Settings,
    /// On which side of it the gate is.
    pub order: GateOrder,
}

/// Which gradients a backward pass has to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatedWanted {
    /// Those of a normalisation.
    pub norm: Wanted,
    /// The gradient of the gate.
    pub dgate: bool,
}

/// The gradients of a gated RMSNorm.
#[derive(Debug, Clone, ExtensionType)]
#[cfg_attr(feature = "fusion", extension_type(fusion))]
pub struct GatedGradients<B: Backend> {
    /// Of x's shape and type
    #[extension_type]
    pub dx: Gradient<B>,
    /// Of x's shape and type
    #[extension_type]
    pub dgate: Gradient<B>,
    /// Of gamma's shape and type
    #[extension_type]
    pub dgamma: Gradient<B>,
    /// Of beta's shape and type
    #[extension_type]
    pub dbeta: Gradient<B>,
}

/// RMSNorm with a gate: forward, forward that keeps what the backward needs, backward.
///
/// The default bodies are right on any backend; a backend overrides them to be fast. Arguments are
/// checked by [`gated_rms_norm`](super::gated_rms_norm), not here.
#[backend_extension(
    Flex: cfg(feature = "flex"),
    NdArray: cfg(feature = "ndarray"),
    Cube: cfg(feature = "cube"),
    Fusion: cfg(feature = "fusion"),
    Autodiff: cfg(feature = "autodiff"),
)]
pub trait GatedRmsNormOps: Backend {
    /// `y`, of x's shape and type. Inference: no rstd is written.
    #[fusion(meta = fusion::forward)]
    fn gated_rms_norm(
        x: FloatTensor<Self>,
        gate: FloatTensor<Self>,
        #[extension_type] affine: Affine<Self>,
        settings: GatedSettings,
    ) -> FloatTensor<Self> {
        decomposed::gated_rms_norm::<Self>(x, gate, affine, settings).0
    }

    /// `y`, and the rstd of every row: of [`Settings::rstd_shape`], f64 where x is f64 and f32 elsewhere.
    #[fusion(meta = fusion::forward_with_rstd)]
    fn gated_rms_norm_with_rstd(
        x: FloatTensor<Self>,
        gate: FloatTensor<Self>,
        #[extension_type] affine: Affine<Self>,
        settings: GatedSettings,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        decomposed::gated_rms_norm::<Self>(x, gate, affine, settings)
    }

    /// The wanted gradients, from the gradient `dy` of `y` and what the forward pass had and saved.
    #[fusion(meta = fusion::backward)]
    fn gated_rms_norm_backward(
        dy: FloatTensor<Self>,
        x: FloatTensor<Self>,
        gate: FloatTensor<Self>,
        rstd: FloatTensor<Self>,
        #[extension_type] affine: Affine<Self>,
        settings: GatedSettings,
        wanted: GatedWanted,
    ) -> GatedGradients<Self> {
        decomposed::gated_rms_norm_backward::<Self>(dy, x, gate, rstd, affine, settings, wanted)
    }
}
