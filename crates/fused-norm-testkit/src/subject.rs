//! What does an implementation have to offer to be judged?

use crate::case::Case;
use crate::kind::FloatKind;

/// Values of a tensor in row-major order.
pub type Values = Vec<f64>;

/// Which inputs are tracked for gradients. None of them means inference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Want {
    /// Track x.
    pub x: bool,
    /// Track the residual or the gate. Set only where the case has one.
    pub second: bool,
    /// Track gamma. Set only where the case has one.
    pub gamma: bool,
    /// Track beta. Set only where the case has one.
    pub beta: bool,
}

impl Want {
    /// Inference.
    pub const NOTHING: Want = Want {
        x: false,
        second: false,
        gamma: false,
        beta: false,
    };

    /// Everything that the case has.
    pub fn all(case: &Case) -> Self {
        Self {
            x: true,
            second: case.variant.has_second(),
            gamma: case.affine.has_gamma(),
            beta: case.affine.has_beta(),
        }
    }

    /// Every combination of what the case has.
    pub fn combinations(case: &Case) -> Vec<Self> {
        let all = Self::all(case);
        (0..16)
            .map(|bits| Self {
                x: bits & 1 != 0,
                gamma: bits & 2 != 0,
                beta: bits & 4 != 0,
                second: bits & 8 != 0,
            })
            .filter(|want| {
                (all.gamma || !want.gamma)
                    && (all.beta || !want.beta)
                    && (all.second || !want.second)
            })
            .collect()
    }

    /// Is anything tracked?
    pub fn any(self) -> bool {
        self.x || self.second || self.gamma || self.beta
    }

    /// The tracked inputs by name.
    pub fn describe(self) -> String {
        let names = [
            (self.x, "x"),
            (self.second, "the second operand"),
            (self.gamma, "gamma"),
            (self.beta, "beta"),
        ];
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
    /// The updated residual stream and its kind: with [`Variant::Add`](crate::Variant::Add) only.
    pub sum: Option<(Values, FloatKind)>,
    /// Gradient of x and its kind, where there is one.
    pub dx: Option<(Values, FloatKind)>,
    /// Gradient of the residual or the gate and its kind, where there is one.
    pub dsecond: Option<(Values, FloatKind)>,
    /// Gradient of gamma and its kind, where there is one.
    pub dgamma: Option<(Values, FloatKind)>,
    /// Gradient of beta and its kind, where there is one.
    pub dbeta: Option<(Values, FloatKind)>,
    /// Do clones, taken before the run, of every input still hold the same bits?
    pub inputs_unchanged: bool,
}

/// An implementation of RMSNorm and pRMSNorm.
///
/// The loss whose gradients are asked for is `Σ dy · y`, and `+ Σ dsum · sum` where the case says
/// that something else reads the sum.
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
