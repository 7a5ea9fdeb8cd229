//! What is done to normalised values: the factor, the shift, and where they are rounded.

use cubecl::prelude::*;

use super::vectors::load;
use crate::cube::Form;

/// gamma or beta from `start` on, in the type of the statistic, or `or` where there is none.
#[cube]
pub(super) fn parameter<P: Float, N: Size, S: Float>(
    parameter: ComptimeOption<&[Vector<P, N>]>,
    start: usize,
    column: usize,
    row_vectors: usize,
    #[comptime] exact: bool,
    #[comptime] or: i64,
) -> Vector<S, N> {
    #[comptime]
    match parameter {
        ComptimeOption::Some(values) => {
            Vector::cast_from(load::<P, N>(values, start, column, row_vectors, exact))
        }
        ComptimeOption::None => Vector::new(S::from_int(or)),
    }
}

/// The vector at which the parameters of a row start.
#[cube]
pub(super) fn parameter_start(
    row: usize,
    gamma_rows: usize,
    row_vectors: usize,
    #[comptime] form: Form,
) -> usize {
    if comptime!(form.periodic) {
        (row % gamma_rows) * row_vectors
    } else {
        0usize.runtime()
    }
}

/// gamma as the factor that it stands for.
#[cube]
pub(super) fn factor<S: Float, N: Size>(
    gamma: Vector<S, N>,
    #[comptime] form: Form,
) -> Vector<S, N> {
    if comptime!(form.zero_centered) {
        gamma + Vector::new(S::from_int(1))
    } else {
        gamma
    }
}

/// `normalised · factor`.
#[cube]
pub(super) fn scaled<T: Float, N: Size, S: Float>(
    normalised: Vector<S, N>,
    gamma: Vector<S, N>,
    #[comptime] form: Form,
) -> Vector<S, N> {
    let factor = factor::<S, N>(gamma, form);
    rounded::<T, N, S>(normalised, form) * rounded::<T, N, S>(factor, form)
}

/// `scaled + beta`.
#[cube]
pub(super) fn shifted<T: Float, N: Size, S: Float>(
    scaled: Vector<S, N>,
    beta: Vector<S, N>,
    #[comptime] form: Form,
) -> Vector<S, N> {
    rounded::<T, N, S>(scaled, form) + rounded::<T, N, S>(beta, form)
}

/// The value as x's type holds it, where every step is rounded.
#[cube]
fn rounded<T: Float, N: Size, S: Float>(
    value: Vector<S, N>,
    #[comptime] form: Form,
) -> Vector<S, N> {
    if comptime!(form.rounds_each_step()) {
        Vector::<S, N>::cast_from(Vector::<T, N>::cast_from(value))
    } else {
        value
    }
}
