//! What every backend owes.

#[cfg(any(feature = "flex", feature = "ndarray"))]
use burn::backend::TensorMetadata;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, ExtensionType, backend_extension};
use burn::tensor::{DType, Shape};

#[cfg(feature = "fusion")]
use super::fusion;
use super::{Rounding, decomposed};

/// What is done to the normalised values: nothing, a scale, or a scale and a shift. Both parameters
/// have [`Settings::gamma_rows`] rows of [`Settings::row_len`] values, in any shape.
#[derive(Debug, Clone, ExtensionType)]
#[cfg_attr(feature = "fusion", extension_type(fusion))]
pub enum Affine<B: Backend> {
    /// `y = x·rstd`
    None,
    /// `y = x·rstd·gamma`
    Scale {
        /// Of any float type
        gamma: FloatTensor<B>,
    },
    /// `y = x·rstd·gamma + beta`
    ScaleShift {
        /// Of any float type
        gamma: FloatTensor<B>,
        /// Of any float type
        beta: FloatTensor<B>,
    },
}

impl<B: Backend> Affine<B> {
    /// Of gamma and beta, as far as there are any.
    ///
    /// # Panics
    ///
    /// If there is a beta, but no gamma.
    pub fn of(gamma: Option<FloatTensor<B>>, beta: Option<FloatTensor<B>>) -> Self {
        match (gamma, beta) {
            (None, None) => Self::None,
            (Some(gamma), None) => Self::Scale { gamma },
            (Some(gamma), Some(beta)) => Self::ScaleShift { gamma, beta },
            (None, Some(_)) => panic!("beta without gamma"),
        }
    }

    /// gamma and beta, as far as there are any.
    pub fn parameters(&self) -> (Option<&FloatTensor<B>>, Option<&FloatTensor<B>>) {
        match self {
            Self::None => (None, None),
            Self::Scale { gamma } => (Some(gamma), None),
            Self::ScaleShift { gamma, beta } => (Some(gamma), Some(beta)),
        }
    }
}

/// What an RMSNorm does, in numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Features of a row: all of the last axis, or one of its groups.
    pub row_len: usize,
    /// How many features of a row, from its start, the statistic reads.
    pub stat_len: usize,
    /// Rows of gamma and beta: row r of x takes row `r % gamma_rows` of them.
    pub gamma_rows: usize,
    /// Added to the mean square inside the root.
    pub epsilon: f64,
    /// The factor is `1 + gamma`.
    pub zero_centered: bool,
    /// Where a row is rounded to x's type on its way to y.
    pub rounding: Rounding,
}

impl Settings {
    /// The shape of rstd for an x of this shape: one number a row.
    pub fn rstd_shape(&self, x: &Shape) -> Shape {
        let mut shape = x.clone();
        let last = shape.num_dims() - 1;
        shape[last] /= self.row_len;
        shape
    }
}

/// The type of rstd and of all sums: f64 where x is f64, f32 elsewhere.
pub(in crate::ops) fn statistic_type(x: DType) -> DType {
    match x {
        DType::F64 => DType::F64,
        _ => DType::F32,
    }
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
    /// `to_tensor(sums, shape and type of the parameter)` where both are there.
    #[cfg(any(feature = "flex", feature = "ndarray"))]
    pub(in crate::ops) fn zip<S>(
        sums: Option<S>,
        parameter: Option<&FloatTensor<B>>,
        to_tensor: impl FnOnce(S, Shape, DType) -> FloatTensor<B>,
    ) -> Self {
        match (sums, parameter) {
            (Some(sums), Some(parameter)) => {
                Self::Computed(to_tensor(sums, parameter.shape(), parameter.dtype()))
            }
            _ => Self::Skipped,
        }
    }
}

/// The gradients of an RMSNorm.
#[derive(Debug, Clone, ExtensionType)]
#[cfg_attr(feature = "fusion", extension_type(fusion))]
pub struct Gradients<B: Backend> {
    /// Of x's shape and type
    #[extension_type]
    pub dx: Gradient<B>,
    /// Of gamma's shape and type
    #[extension_type]
    pub dgamma: Gradient<B>,
    /// Of beta's shape and type
    #[extension_type]
    pub dbeta: Gradient<B>,
}

/// RMSNorm over the last axis, or over equal parts of it: forward, forward that keeps what the backward needs, backward.
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

    /// `y`, and the rstd of every row: of [`Settings::rstd_shape`], f64 where x is f64 and f32 elsewhere.
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
