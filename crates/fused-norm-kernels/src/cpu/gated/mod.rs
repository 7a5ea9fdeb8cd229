//! Norms beside a gate, `norm(x)·silu(gate)` and `norm(x·silu(gate))`.

pub(in crate::cpu) mod backward;
pub(in crate::cpu) mod forward;
mod row;

pub use backward::{GatedGradients, GatedWanted, gated_backward};
pub use forward::gated_forward;

use super::Rows;
use crate::GateOrder;

/// A gate: one value beside every element of x, which takes part as `silu(v) = v/(1 + exp(−v))`.
#[derive(Debug, Clone, Copy)]
pub struct Gate<'a, T> {
    /// As many rows as x, of the same length.
    pub rows: Rows<'a, T>,
    /// On which side of the normalisation it is.
    pub order: GateOrder,
}
