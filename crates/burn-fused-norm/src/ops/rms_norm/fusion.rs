//! Shapes and types of a lazy call's outputs; the call itself runs on the inner backend.

use burn::backend::fusion::custom::TensorSpec;

use super::contract::{AffineMetadata, GradientMetadata, GradientsMetadata, statistic_type};
use super::{Settings, Wanted};

pub(super) fn forward(x: &TensorSpec, _: &AffineMetadata, _: &Settings) -> TensorSpec {
    x.clone()
}

pub(super) fn forward_with_rstd(
    x: &TensorSpec,
    _: &AffineMetadata,
    settings: &Settings,
) -> (TensorSpec, TensorSpec) {
    (x.clone(), rstd(x, settings))
}

/// The rstd of rows like those of `x`.
pub(in crate::ops) fn rstd(x: &TensorSpec, settings: &Settings) -> TensorSpec {
    TensorSpec::new(settings.rstd_shape(&x.shape), statistic_type(x.dtype))
}

pub(super) fn backward(
    _dy: &TensorSpec,
    x: &TensorSpec,
    _rstd: &TensorSpec,
    affine: &AffineMetadata,
    _: &Settings,
    wanted: &Wanted,
) -> GradientsMetadata {
    let (gamma, beta) = parameters(affine);
    GradientsMetadata {
        dx: gradient(wanted.dx, Some(x)),
        dgamma: gradient(wanted.dgamma, gamma),
        dbeta: gradient(wanted.dbeta, beta),
    }
}

/// gamma and beta, as far as there are any.
pub(in crate::ops) fn parameters(
    affine: &AffineMetadata,
) -> (Option<&TensorSpec>, Option<&TensorSpec>) {
    match affine {
        AffineMetadata::None => (None, None),
        AffineMetadata::Scale { gamma } => (Some(gamma), None),
        AffineMetadata::ScaleShift { gamma, beta } => (Some(gamma), Some(beta)),
    }
}

/// A gradient like its tensor, if it is wanted and the tensor is there.
pub(in crate::ops) fn gradient(wanted: bool, like: Option<&TensorSpec>) -> GradientMetadata {
    match like {
        Some(spec) if wanted => GradientMetadata::Computed(spec.clone()),
        _ => GradientMetadata::Skipped,
    }
}
