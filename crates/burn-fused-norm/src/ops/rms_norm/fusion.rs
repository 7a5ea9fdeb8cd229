//! Shapes and types of a lazy call's outputs; the call itself runs on the inner backend.

use alloc::vec::Vec;

use burn::backend::fusion::custom::TensorSpec;
use burn::tensor::{DType, Shape};

use super::contract::{AffineMetadata, GradientMetadata, GradientsMetadata};
use super::{Settings, Wanted};

pub(super) fn forward(x: &TensorSpec, _: &AffineMetadata, _: &Settings) -> TensorSpec {
    x.clone()
}

pub(super) fn forward_with_rstd(
    x: &TensorSpec,
    _: &AffineMetadata,
    _: &Settings,
) -> (TensorSpec, TensorSpec) {
    let mut dims: Vec<usize> = x.shape.iter().copied().collect();
    if let Some(last) = dims.last_mut() {
        *last = 1;
    }
    let rstd = TensorSpec::new(Shape::from(dims), statistic(x.dtype));
    (x.clone(), rstd)
}

pub(super) fn backward(
    _dy: &TensorSpec,
    x: &TensorSpec,
    _rstd: &TensorSpec,
    affine: &AffineMetadata,
    _: &Settings,
    wanted: &Wanted,
) -> GradientsMetadata {
    let (gamma, beta) = match affine {
        AffineMetadata::None => (None, None),
        AffineMetadata::Scale { gamma } => (Some(gamma), None),
        AffineMetadata::ScaleShift { gamma, beta } => (Some(gamma), Some(beta)),
    };
    GradientsMetadata {
        dx: gradient(wanted.dx, Some(x)),
        dgamma: gradient(wanted.dgamma, gamma),
        dbeta: gradient(wanted.dbeta, beta),
    }
}

fn gradient(wanted: bool, like: Option<&TensorSpec>) -> GradientMetadata {
    match like {
        Some(spec) if wanted => GradientMetadata::Computed(spec.clone()),
        _ => GradientMetadata::Skipped,
    }
}

fn statistic(x: DType) -> DType {
    match x {
        DType::F64 => DType::F64,
        _ => DType::F32,
    }
}
