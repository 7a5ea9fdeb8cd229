//! What is normalised: x, or x and the rows beside it.

use cubecl::prelude::*;

use super::gate::silu;
use super::vectors::load;
use crate::cube::Form;

/// Vector `column` of the rows beside x, from vector `start` on; zeros beyond the row's end and where
/// there are no such rows.
#[cube]
pub(super) fn load_operand<T: Float, N: Size>(
    operand: ComptimeOption<&[Vector<T, N>]>,
    start: usize,
    column: usize,
    row_vectors: usize,
    #[comptime] exact: bool,
) -> Vector<T, N> {
    #[comptime]
    match operand {
        ComptimeOption::Some(rows) => load::<T, N>(rows, start, column, row_vectors, exact),
        ComptimeOption::None => Vector::new(T::from_int(0)),
    }
}

/// `x`, `x + residual` or `x · silu(gate)`: never rounded to x's type.
#[cube]
pub(super) fn combined<T: Float, N: Size, S: Float>(
    x: Vector<T, N>,
    operand: Vector<T, N>,
    #[comptime] form: Form,
) -> Vector<S, N> {
    let x = Vector::<S, N>::cast_from(x);
    if comptime!(form.adds()) {
        x + Vector::<S, N>::cast_from(operand)
    } else if comptime!(form.gates_before()) {
        x * silu::<S, N>(Vector::<S, N>::cast_from(operand))
    } else {
        x
    }
}

/// The same of vector `column`, read from memory.
#[cube]
pub(super) fn combined_at<T: Float, N: Size, S: Float>(
    x: &[Vector<T, N>],
    operand: ComptimeOption<&[Vector<T, N>]>,
    x_start: usize,
    operand_start: usize,
    column: usize,
    row_vectors: usize,
    #[comptime] form: Form,
) -> Vector<S, N> {
    let mut other = Vector::<T, N>::new(T::from_int(0));
    if comptime!(form.combines()) {
        other = load_operand::<T, N>(operand, operand_start, column, row_vectors, true);
    }
    combined::<T, N, S>(x[x_start + column], other, form)
}
