//! Rows beside x: a residual, or a gate.

use cubecl::client::Client;
use cubecl::ir::ElemType;

use super::{OperandKind, Rows};
use crate::{Error, GateOrder, Problem};

/// Rows whose silu is multiplied: `silu(v) = v/(1 + exp(−v))`.
#[derive(Debug, Clone)]
pub struct Gate {
    /// As many rows as x has, of its type.
    pub rows: Rows,
    /// On which side of the normalisation.
    pub order: GateOrder,
}

/// What meets the rows of x in a forward pass.
#[derive(Debug, Clone, Default)]
pub enum Operand {
    /// Nothing.
    #[default]
    None,
    /// Rows to add before the normalisation: as many as x has, of its type. The statistic and the
    /// normalisation read the sum before it is rounded.
    Residual(Rows),
    /// A gate.
    Gate(Gate),
}

impl Operand {
    /// What it is, without its rows.
    pub fn kind(&self) -> OperandKind {
        match self {
            Self::None => OperandKind::None,
            Self::Residual(_) => OperandKind::Residual,
            Self::Gate(gate) => OperandKind::Gate(gate.order),
        }
    }

    /// Its rows, if there are any.
    pub fn rows(&self) -> Option<&Rows> {
        match self {
            Self::None => None,
            Self::Residual(rows) | Self::Gate(Gate { rows, .. }) => Some(rows),
        }
    }

    /// Its rows fit the problem, and have the type `x`.
    pub(super) fn check(
        &self,
        client: &Client,
        problem: &Problem,
        x: ElemType,
    ) -> Result<(), Error> {
        match self {
            Self::None => Ok(()),
            Self::Residual(rows) => rows.check_as(client, "residual", problem, x),
            Self::Gate(gate) => gate.rows.check_as(client, "gate", problem, x),
        }
    }

    /// Elements from the start of its first row to the end of its last.
    pub(super) fn span(&self, problem: &Problem) -> usize {
        self.rows().map_or(0, |rows| rows.span(problem))
    }
}
