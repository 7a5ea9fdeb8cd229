//! What every backend owes.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, backend_extension};

use super::decomposed;
#[cfg(feature = "fusion")]
use super::fusion;
use crate::ops::rms_norm::{Affine, RmsNormOps, Settings};

/// RMSNorm of the sum of two tensors, which is an output too. The backward pass is
/// [`RmsNormOps::rms_norm_backward`] of the sum.
///
/// The default bodies are right on any backend; a backend overrides them to be fast. Arguments are
/// checked by [`add_rms_norm`](super::add_rms_norm), not here.
#[backend_extension(
    Flex: cfg(feature = "flex"),
    NdArray: cfg(feature = "ndarray"),
    Cube: cfg(feature = "cube"),
    Fusion: cfg(feature = "fusion"),
    Autodiff: cfg(feature = "autodiff"),
)]
pub trait AddRmsNormOps: Backend + RmsNormOps {
    /// `y` and `sum`, of x's shape and type. Inference: no rstd is written.
    #[fusion(meta = fusion::forward)]
    fn add_rms_norm(
        x: FloatTensor<Self>,
        residual: FloatTensor<Self>,
        #[extension_type] affine: Affine<Self>,
        settings: Settings,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let (y, sum, _) = decomposed::add_rms_norm::<Self>(x, residual, affine, settings);
        (y, sum)
    }

    /// `y`, `sum`, and the rstd of every row: of [`Settings::rstd_shape`], f64 where x is f64 and f32
    /// elsewhere.
    #[fusion(meta = fusion::forward_with_rstd)]
    fn add_rms_norm_with_rstd(
        x: FloatTensor<Self>,
        residual: FloatTensor<Self>,
        #[extension_type] affine: Affine<Self>,
        settings: Settings,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        decomposed::add_rms_norm::<Self>(x, residual, affine, settings)
    }
}
