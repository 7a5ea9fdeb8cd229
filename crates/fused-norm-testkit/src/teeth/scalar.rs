//! How does a plain implementation look, right or with one mistake?

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use super::fault::Fault;
use super::operands::Operands;
use crate::case::{Case, GateOrder, Variant};
use crate::kind::FloatKind;
use crate::subject::{Outcome, Subject, Want};

/// One element after the other, each operation rounded to the kind of the statistic, and each
/// result once to its own kind: right, unless it is told to make a mistake.
///
/// Values are held as `f64`. Rounding the `f64` result of one addition, product, quotient or root
/// to a narrower kind gives what that kind's own operation gives, as `f64` has more than twice the
/// significant bits.
#[derive(Debug, Default)]
pub struct Scalar {
    pub(super) fault: Option<Fault>,
    pub(super) calls: AtomicUsize,
    pub(super) epsilons: Mutex<HashMap<Vec<usize>, f64>>,
    kept: Mutex<HashMap<usize, Vec<f64>>>,
}

impl Scalar {
    /// The right implementation.
    pub fn right() -> Self {
        Self::default()
    }

    /// The implementation with one mistake.
    pub fn wrong(fault: Fault) -> Self {
        Self {
            fault: Some(fault),
            ..Self::default()
        }
    }

    pub(super) fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn forward(&self, case: &Case, operands: &Operands, rstds: &[f64]) -> Vec<f64> {
        let r = |value| operands.arithmetic.round(value);
        let after = case.variant == Variant::Gated(GateOrder::AfterNorm);
        let mut y = self.normalised(case, operands, rstds);
        if let (true, Some(silu)) = (after, &operands.silu) {
            y.iter_mut().zip(silu).for_each(|(y, by)| *y = r(*y * by));
        }
        let kind = self.output_kind(case);
        y.iter_mut().for_each(|y| *y = kind.round(*y));
        y
    }

    /// The normalised, scaled and shifted rows in the kind of the statistic.
    pub(super) fn normalised(&self, case: &Case, operands: &Operands, rstds: &[f64]) -> Vec<f64> {
        let Operands {
            u,
            gamma,
            factor,
            beta,
            arithmetic,
            ..
        } = operands;
        let r = |value| arithmetic.round(value);
        let steps = case.rounds_before_gamma();
        let step = |value| {
            if steps {
                case.x_kind.round(value)
            } else {
                value
            }
        };
        let n = case.row_len();
        let period = n * case.gamma_rows();
        let mut y = Vec::with_capacity(u.len());
        for (index, x) in u.iter().enumerate() {
            let parameter = index % period;
            if self.has(Fault::TailSkipped) && index % n >= n / 8 * 8 {
                y.push(*x);
                continue;
            }
            let mut value = step(r(x * rstds[index / n]));
            if self.has(Fault::CastThenMultiply) {
                value = case.x_kind.round(value);
            }
            if let Some(factor) = factor {
                value = step(r(value * step(factor[parameter])));
            }
            if let Some(beta) = beta {
                let by = match gamma {
                    Some(gamma) if self.has(Fault::BetaScaled) => gamma[parameter],
                    _ => 1.0,
                };
                value = step(r(value + r(step(r(beta[parameter])) * by)));
            }
            y.push(value);
        }
        y
    }

    fn output_kind(&self, case: &Case) -> FloatKind {
        if self.has(Fault::OutputInGammaKind) && case.affine.has_gamma() {
            case.gamma_kind
        } else {
            case.x_kind
        }
    }

    /// Sums that a call adds to what the call before left.
    pub(super) fn keep(&self, sums: &mut [f64]) {
        if self.has(Fault::AccumulatorsKept) {
            let mut kept = self.kept.lock().expect("no panic while locked");
            let before = kept
                .entry(sums.len())
                .or_insert_with(|| vec![0.0; sums.len()]);
            sums.iter_mut()
                .zip(before.iter_mut())
                .for_each(|(sum, before)| {
                    *sum += *before;
                    *before = *sum;
                });
        }
    }
}

impl Subject for Scalar {
    fn name(&self) -> String {
        match self.fault {
            None => "scalar".into(),
            Some(fault) => format!("scalar with {fault:?}"),
        }
    }

    fn supports(&self, _kind: FloatKind) -> bool {
        true
    }

    fn run(&self, case: &Case, want: Want) -> Result<Outcome, String> {
        let case = &self.misread(case);
        let arithmetic = if self.has(Fault::DoubleInSingle) {
            FloatKind::F32
        } else {
            case.statistic()
        };
        let operands = self.operands(case, arithmetic);
        let mut rstds = self.statistics(case, &operands.u, arithmetic);
        if self.has(Fault::InferenceCoarser) && !want.any() && !case.x_kind.is_half() {
            rstds
                .iter_mut()
                .for_each(|rstd| *rstd = FloatKind::BF16.round(*rstd));
        }
        let sum = match case.variant {
            Variant::Add if self.has(Fault::SumMissing) => None,
            Variant::Add if self.has(Fault::SumUnrounded) => Some(operands.u.clone()),
            Variant::Add => Some(self.sum(case, &operands.u)),
            _ => None,
        };
        let mut outcome = Outcome {
            y: case.in_axes(&self.forward(case, &operands, &rstds)),
            y_kind: self.output_kind(case),
            sum: sum.map(|sum| (case.in_axes(&sum), case.x_kind)),
            dx: None,
            dsecond: None,
            dgamma: None,
            dbeta: None,
            inputs_unchanged: !self.has(Fault::OverwritesInput),
        };
        if want.any() {
            let all = self.has(Fault::NeedlessGradient);
            let gradients = self.backward(case, &operands, &rstds);
            if (want.x || all) && !self.has(Fault::Detached) {
                outcome.dx = Some((case.in_axes(&gradients.dx), case.x_kind));
            }
            if let (true, Some(dsecond)) = (want.second || all, gradients.dsecond) {
                outcome.dsecond = Some((case.in_axes(&dsecond), case.x_kind));
            }
            let needs_x = self.has(Fault::DgammaNeedsX);
            if case.affine.has_gamma() && (want.gamma || all) && (want.x || !needs_x) {
                outcome.dgamma = Some((gradients.dgamma, case.gamma_kind));
            }
            if case.affine.has_beta() && (want.beta || all) {
                outcome.dbeta = Some((gradients.dbeta, case.beta_kind));
            }
        }
        Ok(outcome)
    }
}
