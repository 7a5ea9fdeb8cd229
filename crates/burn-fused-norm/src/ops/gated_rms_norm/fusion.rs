//! Shapes and types of a lazy call's outputs; the call itself runs on the inner backend.

use burn::backend::fusion::custom::TensorSpec;

use super::contract::GatedGradientsMetadata;
use super::{GatedSettings, GatedWanted};
use crate::ops::rms_norm::contract::AffineMetadata;
use crate::ops::rms_norm::fusion::{gradient, parameters, rstd};

pub(super) fn forward(
    x: &TensorSpec,
    _gate: &TensorSpec,
    _: &AffineMetadata,
    _: &GatedSettings,
) -> TensorSpec {
    x.clone()
}

pub(super) fn forward_with_rstd(
    x: &TensorSpec,
    _gate: &TensorSpec,
    _: &AffineMetadata,
    settings: &GatedSettings,
) -> (TensorSpec, TensorSpec) {
    (x.clone(), rstd(x, &settings.norm))
}

pub(super) fn backward(
    _dy: &TensorSpec,
    x: &TensorSpec,
    gate: &TensorSpec,
    _rstd: &TensorSpec,
    affine: &AffineMetadata,
    _: &GatedSettings,
    wanted: &GatedWanted,
) -> GatedGradientsMetadata {
    let (gamma, beta) = parameters(affine);
    GatedGradientsMetadata {
        dx: gradient(wanted.norm.dx, Some(x)),
        dgate: gradient(wanted.dgate, Some(gate)),
        dgamma: gradient(wanted.norm.dgamma, gamma),
        dbeta: gradient(wanted.norm.dbeta, beta),
    }
}
