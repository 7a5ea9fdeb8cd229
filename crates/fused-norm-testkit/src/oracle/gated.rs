//! What are the right values with a gate?
//!
//! With `σ(v) = 1 / (1 + exp(-v))`, `s(v) = v · σ(v)` and `s'(v) = σ(v) · (1 + v · (1 - σ(v)))`:
//!
//! ```text
//! after the norm    n = x · rstd · gamma (+ beta)       y = n · s(gate)
//!                   dn = dy · s(gate) is the dy of dx, dgamma and dbeta
//!                   dgate = dy · n · s'(gate)
//! before the norm   u = x · s(gate)                     y = norm(u)
//!                   du, dgamma and dbeta are those of norm(u)
//!                   dx = du · s(gate)                   dgate = du · x · s'(gate)
//! ```
//!
//! *Magnitudes.* WGSL lets `exp(v)` be off by `(3 + 2 · |v|)` units in the last place, two of which
//! are one `u` of the tolerance's `8 u`; the part `1 - σ` of it gets through to σ, and a division may
//! be off by 2.5 units. So σ counts `2 + |v| · (1 - σ)` times, and what reads it accordingly: in
//! `s'`, whose two terms cancel near -1.28 and whose `1 - σ` is off by as much as σ, both terms with
//! the whole of σ. Where `exp(-v)` overflows or σ is below the normal numbers of its kind, hardware
//! may take 0 for σ: that error does not shrink with σ and counts as well.

use super::plain::{self, Operand};
use super::{Backward, Exact, Forward, Problem};
use crate::case::GateOrder;
use crate::kind::FloatKind;

/// A gate of the shape of x.
#[derive(Clone, Copy, Debug)]
pub struct Gate<'a> {
    /// Its values, before silu.
    pub values: &'a [f64],
    /// On which side of the normalisation it is.
    pub order: GateOrder,
    /// The kind in which silu is computed.
    pub statistic: FloatKind,
}

/// `v · σ(v)`, and its limit at both infinities.
pub fn silu(v: f64) -> f64 {
    if v == f64::NEG_INFINITY {
        return 0.0;
    }
    v * sigmoid(v)
}

/// The derivative of [`silu`], and its limit at both infinities.
pub fn silu_slope(v: f64) -> f64 {
    if v.is_infinite() {
        return sigmoid(v);
    }
    sigmoid(v) * (1.0 + v * sigmoid(-v))
}

fn sigmoid(v: f64) -> f64 {
    let small = (-v.abs()).exp();
    (if v < 0.0 { small } else { 1.0 }) / (1.0 + small)
}

impl Gate<'_> {
    /// Magnitude of σ.
    fn sigmoid_magnitude(&self, v: f64) -> f64 {
        // The absolute error of a flushed σ, in units of a tolerance of 8 u.
        let flushed = self.statistic.min_normal() / (8.0 * self.statistic.unit_roundoff());
        sigmoid(v) * (2.0 + v.abs() * sigmoid(-v)) + flushed
    }

    fn silu_magnitude(&self, v: f64) -> f64 {
        v.abs() * self.sigmoid_magnitude(v)
    }

    fn slope_magnitude(&self, v: f64) -> f64 {
        (1.0 + v.abs()) * self.sigmoid_magnitude(v)
    }

    /// `values · silu(gate)` and the errors of the products, for values with the given errors.
    fn scaled(&self, values: &[f64], errors: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let products = values.iter().zip(self.values);
        let values = products.map(|(value, v)| value * silu(*v)).collect();
        let errors = errors.iter().zip(self.values);
        let errors = errors.map(|(error, v)| error * self.silu_magnitude(*v));
        (values, errors.collect())
    }
}

fn magnitudes(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value.abs()).collect()
}

/// The forward pass over all rows of `x` with a gate.
///
/// # Panics
///
/// As [`forward`](super::forward), and when `x` and the gate differ in length.
pub fn gated_forward(x: &[f64], gate: Gate<'_>, problem: &Problem<'_>) -> Forward {
    assert_eq!(
        x.len(),
        gate.values.len(),
        "oracle: x and gate differ in length"
    );
    match gate.order {
        GateOrder::AfterNorm => {
            let mut exact = plain::forward(Operand::exact(x), problem);
            let (values, magnitudes) = gate.scaled(&exact.y.values, &exact.y.magnitudes);
            exact.y = Exact { values, magnitudes };
            exact
        }
        GateOrder::BeforeNorm => {
            let (values, errors) = gate.scaled(x, &magnitudes(x));
            plain::forward(computed(&values, &errors), problem)
        }
    }
}

/// The backward pass over all rows of `x` with a gate, given the gradient `dy` of the output.
///
/// # Panics
///
/// As [`gated_forward`], and when `x` and `dy` differ in length.
pub fn gated_backward(x: &[f64], gate: Gate<'_>, dy: &[f64], problem: &Problem<'_>) -> Backward {
    assert_eq!(
        x.len(),
        gate.values.len(),
        "oracle: x and gate differ in length"
    );
    match gate.order {
        GateOrder::AfterNorm => {
            let (values, errors) = gate.scaled(dy, &magnitudes(dy));
            let mut exact =
                plain::backward(Operand::exact(x), computed(&values, &errors), None, problem);
            let n = plain::forward(Operand::exact(x), problem).y;
            let mut dgate = Exact::with_capacity(x.len());
            for (index, v) in gate.values.iter().enumerate() {
                let magnitude = dy[index].abs() * n.magnitudes[index] * gate.slope_magnitude(*v);
                dgate.push(dy[index] * n.values[index] * silu_slope(*v), magnitude);
            }
            exact.dsecond = Some(dgate);
            exact
        }
        GateOrder::BeforeNorm => {
            let (values, errors) = gate.scaled(x, &magnitudes(x));
            let mut exact = plain::backward(
                computed(&values, &errors),
                Operand::exact(dy),
                None,
                problem,
            );
            let (mut dx, mut dgate) =
                (Exact::with_capacity(x.len()), Exact::with_capacity(x.len()));
            for (index, (v, x)) in gate.values.iter().zip(x).enumerate() {
                let (du, magnitude) = (exact.dx.values[index], exact.dx.magnitudes[index]);
                // An error of du meets the right silu, and the right du an error of silu.
                let both = silu(*v).abs() + gate.silu_magnitude(*v);
                dx.push(du * silu(*v), magnitude * both);
                let both = silu_slope(*v).abs() + gate.slope_magnitude(*v);
                dgate.push(du * x * silu_slope(*v), magnitude * x.abs() * both);
            }
            (exact.dx, exact.dsecond) = (dx, Some(dgate));
            exact
        }
    }
}

fn computed<'a>(values: &'a [f64], errors: &'a [f64]) -> Operand<'a> {
    Operand {
        values,
        errors: Some(errors),
    }
}
