//! What is one test?
//!
//! A [`Case`] holds everything that a result depends on: shapes, kinds, arrangement in memory,
//! options and values. It says nothing about devices or libraries.

mod build;
mod derive;
mod exact;
mod fill;
mod layout;
mod name;
mod rows;
#[cfg(test)]
mod tests;
mod values;
mod variant;
mod view;

pub use fill::Fill;
pub use layout::{GammaLayout, Layout};
pub use values::Inputs;
pub use variant::{GammaForm, GateOrder, Rounding, Variant};
pub use view::{Base, ViewStep};

use crate::kind::FloatKind;

/// Which learnable parameters take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AffineForm {
    /// Neither gamma nor beta.
    None,
    /// Gamma alone.
    Scale,
    /// Gamma and beta.
    ScaleShift,
}

impl AffineForm {
    /// Every form.
    pub const ALL: [AffineForm; 3] = [Self::None, Self::Scale, Self::ScaleShift];

    /// Is there a gamma?
    pub fn has_gamma(self) -> bool {
        self != Self::None
    }

    /// Is there a beta?
    pub fn has_beta(self) -> bool {
        self == Self::ScaleShift
    }
}

/// A complete description of one test.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Unique and stable: what a filter selects by and reports print. Contains no spaces.
    pub name: String,
    /// Logical shape of x, y, dy, dx, the second operand, the sum and their gradients.
    pub shape: Vec<usize>,
    /// The normalised axis, counted from the end: 0 is the last. Other axes only with
    /// [`GammaForm::Row`].
    pub axis: usize,
    /// Which operation it is.
    pub variant: Variant,
    /// How x is stored.
    pub x_layout: Layout,
    /// How dy is stored.
    pub dy_layout: Layout,
    /// How the residual or the gate is stored.
    pub second_layout: Layout,
    /// How gamma and beta are stored.
    pub gamma_layout: GammaLayout,
    /// Kind of x, y, dy, dx, the second operand, the sum and their gradients.
    pub x_kind: FloatKind,
    /// Kind of gamma and dgamma.
    pub gamma_kind: FloatKind,
    /// Kind of beta and dbeta.
    pub beta_kind: FloatKind,
    /// Which parameters take part.
    pub affine: AffineForm,
    /// Which rows share a row of gamma and beta.
    pub gamma_form: GammaForm,
    /// Is the factor `1 + gamma`?
    pub zero_centered: bool,
    /// Where a row is rounded on the way to y. Always once with a gate.
    pub rounding: Rounding,
    /// The fraction p of pRMSNorm; `None` is RMSNorm.
    pub partial: Option<f64>,
    /// As the user gives it.
    pub epsilon: f64,
    /// Values of x. Where the layout of x repeats elements, this fills the base, and the logical
    /// values follow.
    pub fill: Fill,
    /// Values of dy, with the same rule for its layout.
    pub dy_fill: Fill,
    /// Values of the residual or the gate, with the same rule for its layout.
    pub second_fill: Fill,
    /// Values of the gradient that flows into the sum from elsewhere; `None` when nothing else reads
    /// the sum.
    pub dsum_fill: Option<Fill>,
    /// Values of gamma, with the same rule for its layout. Beta is always [`Fill::B`].
    pub gamma_fill: Fill,
}

impl Case {
    /// The kind in which statistics and sums are computed.
    pub fn statistic(&self) -> FloatKind {
        self.x_kind.statistic()
    }
}
