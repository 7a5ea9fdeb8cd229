//! What the adapters to the kernels share: this operation in the kernels' words.

use burn::tensor::Shape;
use fused_norm_kernels::{Error, Problem};

#[cfg(any(feature = "flex", feature = "ndarray"))]
use super::{Affine, Wanted};
#[cfg(any(feature = "flex", feature = "ndarray"))]
use burn::backend::Backend;
#[cfg(any(feature = "flex", feature = "ndarray"))]
use fused_norm_kernels::cpu;

use super::Settings;

/// The rows of a tensor of this shape as a problem.
pub(in crate::ops) fn problem(shape: &Shape, settings: Settings) -> Problem {
    let row_len = settings.row_len;
    let rows = shape.num_elements().checked_div(row_len).unwrap_or(0);
    let problem = Problem::new(rows, row_len, settings.stat_len, settings.epsilon)
        .and_then(|problem| problem.with_gamma_rows(settings.gamma_rows));
    expect(problem)
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

/// For arguments that [`rms_norm`](super::rms_norm) has checked.
pub(in crate::ops) fn expect<T>(result: Result<T, Error>) -> T {
    result.unwrap_or_else(|error| panic!("rms_norm: {error}"))
}
