//! What the adapters to the kernels share: this operation in the kernels' words.

#[cfg(any(feature = "flex", feature = "ndarray"))]
use burn::backend::Backend;
use burn::tensor::Shape;
#[cfg(any(feature = "flex", feature = "ndarray"))]
use fused_norm_kernels::cpu;
use fused_norm_kernels::{Error, Problem};

#[cfg(any(feature = "flex", feature = "ndarray"))]
use super::GatedWanted;
use super::OPERATION;
#[cfg(any(feature = "flex", feature = "ndarray"))]
use crate::ops::rms_norm::Affine;
use crate::ops::rms_norm::Settings;
#[cfg(any(feature = "flex", feature = "ndarray"))]
use crate::ops::rms_norm::native::wanted_of as wanted_of_norm;
use crate::ops::rms_norm::native::{expect_of, problem_of};

/// The rows of a tensor of this shape as a problem.
pub(super) fn problem(shape: &Shape, settings: Settings) -> Problem {
    problem_of(OPERATION, shape, settings)
}

/// The wanted gradients, as far as their parameters are there.
#[cfg(any(feature = "flex", feature = "ndarray"))]
pub(super) fn wanted_of<B: Backend>(affine: &Affine<B>, wanted: GatedWanted) -> cpu::GatedWanted {
    let norm = wanted_of_norm(affine, wanted.norm);
    cpu::GatedWanted {
        dx: norm.dx,
        dgate: wanted.dgate,
        dgamma: norm.dgamma,
        dbeta: norm.dbeta,
    }
}

/// What the kernels return for arguments that the door has checked.
pub(super) fn expect<T>(result: Result<T, Error>) -> T {
    expect_of(OPERATION, result)
}
