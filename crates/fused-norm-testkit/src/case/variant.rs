//! Which operation is it, and which of its conventions hold?

/// What is computed around the normalisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// `y = norm(x)`.
    Plain,
    /// `sum = x + residual` is returned as well; `y = norm(x + residual)` reads it before it is
    /// rounded, the gradients after.
    Add,
    /// A gate goes through `silu(v) = v / (1 + exp(-v))` and multiplies.
    Gated(GateOrder),
}

impl Variant {
    /// Every variant.
    pub const ALL: [Variant; 4] = [
        Self::Plain,
        Self::Add,
        Self::Gated(GateOrder::AfterNorm),
        Self::Gated(GateOrder::BeforeNorm),
    ];

    /// Is there a second operand of the shape of x: a residual or a gate?
    pub fn has_second(self) -> bool {
        self != Self::Plain
    }

    /// Short name without spaces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Add => "add",
            Self::Gated(GateOrder::AfterNorm) => "gate_after_norm",
            Self::Gated(GateOrder::BeforeNorm) => "gate_before_norm",
        }
    }
}

/// On which side of the normalisation a gate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GateOrder {
    /// `y = norm(x) · silu(gate)`.
    AfterNorm,
    /// `y = norm(x · silu(gate))`.
    BeforeNorm,
}

/// Where a row is rounded to its own kind on the way to y.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// Once, at the store.
    Once,
    /// After every step, as LLaMA's own code does: `y = round(round(x · rstd) · round(factor))`, and
    /// with beta `round(y + round(beta))`. Gradients are those of the unrounded function.
    BeforeGamma,
}

/// Which rows share a row of gamma and beta.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GammaForm {
    /// All: gamma has one value for each element of a row.
    Row,
    /// The last axis is cut into so many rows, and gamma has one value for each element of the axis.
    Groups(usize),
    /// Gamma has the shape of the last two axes: a row of its own for each index of the last but
    /// one. Rank 2 or more.
    Heads,
}
