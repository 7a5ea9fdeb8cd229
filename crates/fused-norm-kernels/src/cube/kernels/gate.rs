//! A gate: `silu(v) = v·σ(v)`, and what it makes of the gradients around it.

use cubecl::prelude::*;

use super::exponential::exp;
use crate::cube::Form;

/// `σ(v)` and `σ(−v)`, by the exponential of a number that is not positive: it cannot overflow, and
/// neither of the two is a difference of nearly equal numbers.
#[cube]
fn sigmoids<S: Float, N: Size>(v: Vector<S, N>) -> (Vector<S, N>, Vector<S, N>) {
    let zero = Vector::<S, N>::new(S::from_int(0));
    let one = Vector::<S, N>::new(S::from_int(1));
    let negative = v.less_than(&zero);
    let power = exp::<S, N>(select_many(negative, v, zero - v));
    let large = reciprocal::<S, N>(one + power);
    let small = power * large;
    (
        select_many(negative, small, large),
        select_many(negative, large, small),
    )
}

/// `1/v` for v from 1 to 2, by Newton's method from the line that is nearest to it, which is off by 1/17:
/// an exact division costs a GPU a subroutine, and registers around the call.
#[cube]
fn reciprocal<S: Float, N: Size>(v: Vector<S, N>) -> Vector<S, N> {
    let one = Vector::<S, N>::new(S::from_int(1));
    let slope = Vector::new(S::new(-8.0 / 17.0));
    let mut reciprocal = v * slope + Vector::new(S::new(24.0 / 17.0));
    let size = S::size();
    // Each squares the distance: 1e-10 after three, below f64's after four.
    #[unroll]
    for _step in 0..comptime!(if size == 8 { 4 } else { 3 }) {
        reciprocal += reciprocal * (one - v * reciprocal);
    }
    reciprocal
}

/// Beyond it, on both sides, silu is v or 0 to the last digit, and 0 times infinity is no 0.
fn end(size: usize) -> f32 {
    if size == 8 { 1500.0 } else { 150.0 }
}

/// v, or the end of the range that lies below it.
#[cube]
fn at_least<S: Float, N: Size>(v: Vector<S, N>) -> Vector<S, N> {
    let size = S::size();
    let least = Vector::<S, N>::new(S::new(comptime!(-end(size))));
    // NaN is not less.
    select_many(v.less_than(&least), least, v)
}

/// `silu(v)`
#[cube]
pub(super) fn silu<S: Float, N: Size>(v: Vector<S, N>) -> Vector<S, N> {
    let (sigmoid, _) = sigmoids::<S, N>(v);
    at_least::<S, N>(v) * sigmoid
}

/// `silu'(v) = σ(v)·(1 + v·σ(−v))`
#[cube]
fn silu_derivative<S: Float, N: Size>(v: Vector<S, N>) -> Vector<S, N> {
    let (sigmoid, complement) = sigmoids::<S, N>(v);
    let zero = Vector::<S, N>::new(S::from_int(0));
    let within = zero - at_least::<S, N>(zero - at_least::<S, N>(v));
    sigmoid * (Vector::new(S::from_int(1)) + within * complement)
}

/// dy and x as the normalisation has them: behind a gate that comes after it, and before one that it
/// is behind.
#[cube]
pub(super) fn around_norm<S: Float, N: Size>(
    dy: Vector<S, N>,
    x: Vector<S, N>,
    gate: Vector<S, N>,
    #[comptime] form: Form,
) -> (Vector<S, N>, Vector<S, N>) {
    if comptime!(form.gates_after()) {
        (dy * silu::<S, N>(gate), x)
    } else if comptime!(form.gates_before()) {
        (dy, x * silu::<S, N>(gate))
    } else {
        (dy, x)
    }
}

/// dx from `du`, the gradient of what is normalised.
#[cube]
pub(super) fn dx_of<S: Float, N: Size>(
    du: Vector<S, N>,
    gate: Vector<S, N>,
    #[comptime] form: Form,
) -> Vector<S, N> {
    if comptime!(form.gates_before()) {
        du * silu::<S, N>(gate)
    } else {
        du
    }
}

/// dgate: of a gate before the normalisation from `du` and x, of one after it from dy and `n`, the
/// scaled and shifted normalised values.
#[cube]
pub(super) fn dgate_of<S: Float, N: Size>(
    dy: Vector<S, N>,
    n: Vector<S, N>,
    x: Vector<S, N>,
    du: Vector<S, N>,
    gate: Vector<S, N>,
    #[comptime] form: Form,
) -> Vector<S, N> {
    let derivative = silu_derivative::<S, N>(gate);
    if comptime!(form.gates_before()) {
        du * x * derivative
    } else {
        dy * n * derivative
    }
}
