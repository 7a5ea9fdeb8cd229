//! What the adapters to the kernels share: this operation in the kernels' words.

use burn::tensor::Shape;
use fused_norm_kernels::{Error, Problem};

use super::OPERATION;
use crate::ops::rms_norm::Settings;
use crate::ops::rms_norm::native::{expect_of, problem_of};

/// The rows of a tensor of this shape as a problem.
pub(super) fn problem(shape: &Shape, settings: Settings) -> Problem {
    problem_of(OPERATION, shape, settings)
}

/// What the kernels return for arguments that the door has checked.
pub(super) fn expect<T>(result: Result<T, Error>) -> T {
    expect_of(OPERATION, result)
}
