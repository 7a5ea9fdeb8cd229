//! What a backward pass reads of a row: from registers, or from memory once more.

use cubecl::prelude::*;

use super::operand::load_operand;
use super::vectors::{column, load};
use crate::cube::{Blueprint, Form};

/// Vector `step` of this lane, of dy, x and the gate; zeros where there is no gate.
#[cube]
pub(super) fn inputs<T: Float, N: Size, S: Float>(
    dy: &[Vector<T, N>],
    x: &[Vector<T, N>],
    gate: ComptimeOption<&[Vector<T, N>]>,
    dys: &Array<Vector<T, N>>,
    xs: &Array<Vector<T, N>>,
    gates: &Array<Vector<T, N>>,
    dy_start: usize,
    x_start: usize,
    gate_start: usize,
    step: u32,
    row_vectors: usize,
    #[comptime] blueprint: Blueprint,
    #[comptime] form: Form,
) -> (Vector<S, N>, Vector<S, N>, Vector<S, N>) {
    let exact = comptime!(blueprint.exact);
    let mut gate_here = Vector::<S, N>::new(S::from_int(0));
    if comptime!(blueprint.held) {
        if comptime!(form.gates()) {
            gate_here = Vector::cast_from(gates[step as usize]);
        }
        (
            Vector::<S, N>::cast_from(dys[step as usize]),
            Vector::<S, N>::cast_from(xs[step as usize]),
            gate_here,
        )
    } else {
        let column = column(step, blueprint);
        if comptime!(form.gates()) {
            let read = load_operand::<T, N>(gate, gate_start, column, row_vectors, exact);
            gate_here = Vector::cast_from(read);
        }
        (
            Vector::<S, N>::cast_from(load::<T, N>(dy, dy_start, column, row_vectors, exact)),
            Vector::<S, N>::cast_from(load::<T, N>(x, x_start, column, row_vectors, exact)),
            gate_here,
        )
    }
}
