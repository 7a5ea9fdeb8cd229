//! What the plain implementation reads and prepares before the passes, right or with one mistake.

use super::fault::Fault;
use super::scalar::Scalar;
use crate::case::{Base, Case, GateOrder, Layout, Variant};
use crate::kind::FloatKind;

/// All operands, row after row.
pub(super) struct Operands {
    /// As given.
    pub x: Vec<f64>,
    /// The residual or the gate.
    pub second: Option<Vec<f64>>,
    /// `silu(gate)`.
    pub silu: Option<Vec<f64>>,
    /// What is normalised.
    pub u: Vec<f64>,
    /// What the backward pass reads in its place.
    pub kept: Vec<f64>,
    /// Gamma as stored.
    pub gamma: Option<Vec<f64>>,
    /// What the rows are multiplied by.
    pub factor: Option<Vec<f64>>,
    pub beta: Option<Vec<f64>>,
    pub arithmetic: FloatKind,
}

impl Scalar {
    pub(super) fn operands(&self, case: &Case, arithmetic: FloatKind) -> Operands {
        let r = |value| arithmetic.round(value);
        let stored = |fault, layout, base: Base, values: Vec<f64>| {
            let taken = if self.has(fault) && layout == Layout::Transposed {
                base.values
            } else {
                values
            };
            case.in_rows(&taken)
        };
        let x = stored(
            Fault::StridesIgnored,
            case.x_layout,
            case.base_x(),
            case.x(),
        );
        let second = case.second().zip(case.base_second()).map(|(values, base)| {
            stored(
                Fault::SecondStridesIgnored,
                case.second_layout,
                base,
                values,
            )
        });
        let silu: Option<Vec<f64>> = match (case.variant, &second) {
            (Variant::Gated(_), Some(gate)) => {
                Some(gate.iter().map(|v| self.silu(*v, arithmetic)).collect())
            }
            _ => None,
        };
        let combined = |by: &[f64], with: fn(f64, f64) -> f64| -> Vec<f64> {
            let pairs = x.iter().zip(by);
            pairs.map(|(x, by)| r(with(*x, *by))).collect()
        };
        let mut u = match (case.variant, &second, &silu) {
            (Variant::Add, Some(residual), _) => combined(residual, |x, by| x + by),
            (Variant::Gated(GateOrder::BeforeNorm), _, Some(silu)) => {
                combined(silu, |x, by| x * by)
            }
            _ => x.clone(),
        };
        let mut kept = u.clone();
        if case.variant == Variant::Add {
            kept = self.sum(case, &u);
            if self.has(Fault::StatisticOfRoundedSum) {
                u.clone_from(&kept);
            }
            if self.has(Fault::BackwardReadsX) {
                kept.clone_from(&x);
            }
        }
        let gamma = case.gamma();
        let factor = gamma.as_ref().map(|gamma| {
            let factor = |gamma: &f64| match case.zero_centered {
                true if self.has(Fault::CentredInHalf) => case.x_kind.round(1.0 + gamma),
                true => r(1.0 + r(*gamma)),
                false => r(*gamma),
            };
            gamma.iter().map(factor).collect()
        });
        Operands {
            x,
            second,
            silu,
            u,
            kept,
            gamma,
            factor,
            beta: case.beta(),
            arithmetic,
        }
    }

    /// The sum as it is stored.
    pub(super) fn sum(&self, case: &Case, u: &[f64]) -> Vec<f64> {
        u.iter().map(|sum| case.x_kind.round(*sum)).collect()
    }

    fn sigmoid(v: f64, arithmetic: FloatKind) -> f64 {
        let r = |value| arithmetic.round(value);
        r(1.0 / r(1.0 + r((-v).exp())))
    }

    fn silu(&self, v: f64, arithmetic: FloatKind) -> f64 {
        let sigmoid = Self::sigmoid(v, arithmetic);
        if self.has(Fault::SigmoidGate) {
            sigmoid
        } else {
            arithmetic.round(v * sigmoid)
        }
    }

    pub(super) fn silu_slope(&self, v: f64, arithmetic: FloatKind) -> f64 {
        let r = |value| arithmetic.round(value);
        let sigmoid = Self::sigmoid(v, arithmetic);
        if self.has(Fault::SlopeIsSigmoid) {
            return sigmoid;
        }
        r(sigmoid * r(1.0 + r(v * r(1.0 - sigmoid))))
    }
}
