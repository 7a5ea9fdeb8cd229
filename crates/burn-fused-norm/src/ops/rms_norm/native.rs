//! What the adapters to the kernels share: this operation in the kernels' words.

use burn::tensor::Shape;
use fused_norm_kernels::{Error, Problem};

#[cfg(any(feature = "flex", feature = "ndarray"))]
use super::{Affine, Wanted};
#[cfg(any(feature = "flex", feature = "ndarray"))]
use burn::backend::Backend;
#[cfg(any(feature = "flex", feature = "ndarray"))]
use fused_norm_kernels::cpu;

use super::{OPERATION, Settings};

/// The rows of a tensor of this shape as a problem.
pub(super) fn problem(shape: &Shape, settings: Settings) -> Problem {
    problem_of(OPERATION, shape, settings)
}

/// [`problem`] of another operation.
pub(in crate::ops) fn problem_of(operation: &str, shape: &Shape, settings: Settings) -> Problem {
    let row_len = settings.row_len;
    let rows = shape.num_elements().checked_div(row_len).unwrap_or(0);
    let problem = Problem::new(rows, row_len, settings.stat_len, settings.epsilon)
        .and_then(|problem| problem.with_gamma_rows(settings.gamma_rows));
    expect_of(operation, problem)
        .with_zero_centered(settings.zero_centered)
        .with_rounding(settings.rounding.into())
}

/// The wanted gradients, as far as their parameters are there.
#[cfg(any(feature = "flex", feature = "ndarray"))]
pub(in crate::ops) fn wanted_of<B: Backend>(affine: &Affine<B>, wanted: Wanted) -> cpu::Wanted {
    let (gamma, beta) = affine.parameters();
    cpu::Wanted {
        dx: wanted.dx,
        dgamma: wanted.dgamma && gamma.is_some(),
        dbeta: wanted.dbeta && beta.is_some(),
    }
}

/// What the kernels return for arguments that the door has checked.
pub(super) fn expect<T>(result: Result<T, Error>) -> T {
    expect_of(OPERATION, result)
}

/// [`expect`] of another operation, in whose name is refused what the kernels refuse.
pub(in crate::ops) fn expect_of<T>(operation: &str, result: Result<T, Error>) -> T {
    result.unwrap_or_else(|error| panic!("{operation}: {error}"))
}
