//! What does an implementation have to offer to be judged?

use crate::case::{AffineForm, Case};
use crate::kind::FloatKind;

/// Values of a tensor in row-major order.
pub type Values = Vec<f64>;

/// Which inputs are tracked for gradients. None of them means inference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Want {
    /// Track x.
    pub x: bool,
    /// Track gamma. Set only where the case has one.
    pub gamma: bool,
    /// Track beta. Set only where the case has one.
    pub beta: bool,
}

impl Want {
    /// Inference.
    pub const NOTHING: Want = Want {
        x: false,
        gamma: false,
        beta: false,
    };

    /// Everything that the affine form has.
    pub fn all(affine: AffineForm) -> Self {
        Self {
            x: true,
            gamma: affine.has_gamma(),
            beta: affine.has_beta(),
        }
    }

    /// Every combination that the affine form has.
    pub fn combinations(affine: AffineForm) -> Vec<Self> {
        let all = Self::all(affine);
        (0..8)
            .map(|bits| Self {
                x: bits & 1 != 0,
                gamma: bits & 2 != 0,
                beta: bits & 4 != 0,
            })
            .filter(|want| (all.gamma || !want.gamma) && (all.beta || !want.beta))
            .collect()
    }

    /// Is anything tracked?
    pub fn any(self) -> bool {
        self.x || self.gamma || self.beta
    }

    /// The tracked inputs by name.
    pub fn describe(self) -> String {
        let names = [(self.x, "x"), (self.gamma, "gamma"), (self.beta, "beta")];
        let tracked: Vec<&str> = names
            .iter()
            .filter(|(set, _)| *set)
            .map(|(_, name)| *name)
            .collect();
        if tracked.is_empty() {
            "nothing".into()
        } else {
            tracked.join(" and ")
        }
    }
}

/// What one run returned.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The output.
    pub y: Values,
    /// Kind of the output tensor.
    pub y_kind: FloatKind,
    /// Gradient of x and its kind, where there is one.
    pub dx: Option<(Values, FloatKind)>,
    /// Gradient of gamma and its kind, where there is one.
    pub dgamma: Option<(Values, FloatKind)>,
    /// Gradient of beta and its kind, where there is one.
    pub dbeta: Option<(Values, FloatKind)>,
    /// Do clones, taken before the run, of every input still hold the same bits?
    pub inputs_unchanged: bool,
}

/// An implementation of RMSNorm and pRMSNorm.
///
/// The loss whose gradients are asked for is `Σ dy · y`.
pub trait Subject {
    /// Name in reports: library, device, mode.
    fn name(&self) -> String;

    /// Can tensors of this kind be used here?
    fn supports(&self, kind: FloatKind) -> bool;

    /// Runs one case: forward, and backward to the inputs in `want` when there are any.
    ///
    /// Values come back exactly as the tensors hold them. A panic or an error is an `Err` with its
    /// message.
    fn run(&self, case: &Case, want: Want) -> Result<Outcome, String>;
}
