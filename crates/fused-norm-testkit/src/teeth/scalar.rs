//! How does a plain implementation look, right or with one mistake?

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use super::fault::Fault;
use crate::case::{Case, Layout};
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

    fn forward(&self, case: &Case, rows: &Rows<'_>) -> Vec<f64> {
        let Rows {
            x,
            rstds,
            gamma,
            beta,
            arithmetic,
        } = rows;
        let r = |value| arithmetic.round(value);
        let n = case.row_len();
        let mut y = Vec::with_capacity(x.len());
        for (row, rstd) in x.chunks_exact(n).zip(*rstds) {
            for (j, x) in row.iter().enumerate() {
                if self.has(Fault::TailSkipped) && j >= n / 8 * 8 {
                    y.push(*x);
                    continue;
                }
                let mut value = r(x * rstd);
                if self.has(Fault::CastThenMultiply) {
                    value = case.x_kind.round(value);
                }
                if let Some(gamma) = gamma {
                    value = r(value * r(gamma[j]));
                }
                if let Some(beta) = beta {
                    let by = if self.has(Fault::BetaScaled) {
                        gamma.map_or(1.0, |gamma| gamma[j])
                    } else {
                        1.0
                    };
                    value = r(value + r(r(beta[j]) * by));
                }
                y.push(self.output_kind(case).round(value));
            }
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

/// What both passes read.
pub(super) struct Rows<'a> {
    pub x: &'a [f64],
    pub rstds: &'a [f64],
    pub gamma: Option<&'a [f64]>,
    pub beta: Option<&'a [f64]>,
    pub arithmetic: FloatKind,
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
        let single = self.has(Fault::DoubleInSingle);
        let arithmetic = if single {
            FloatKind::F32
        } else {
            case.statistic()
        };
        let x = if self.has(Fault::StridesIgnored) && case.x_layout == Layout::Transposed {
            case.base_x().values
        } else {
            case.x()
        };
        let mut rstds = self.statistics(case, &x, arithmetic);
        if self.has(Fault::InferenceCoarser) && !want.any() && !case.x_kind.is_half() {
            rstds
                .iter_mut()
                .for_each(|rstd| *rstd = FloatKind::BF16.round(*rstd));
        }
        let (gamma, beta) = (case.gamma(), case.beta());
        let rows = Rows {
            x: &x,
            rstds: &rstds,
            gamma: gamma.as_deref(),
            beta: beta.as_deref(),
            arithmetic,
        };
        let mut outcome = Outcome {
            y: self.forward(case, &rows),
            y_kind: self.output_kind(case),
            dx: None,
            dgamma: None,
            dbeta: None,
            inputs_unchanged: !self.has(Fault::OverwritesInput),
        };
        if want.any() {
            let all = self.has(Fault::NeedlessGradient);
            let dy = case.dy();
            if (want.x || all) && !self.has(Fault::Detached) {
                outcome.dx = Some((self.dx(case, &rows, &dy), case.x_kind));
            }
            let needs_x = self.has(Fault::DgammaNeedsX);
            if case.affine.has_gamma() && (want.gamma || all) && (want.x || !needs_x) {
                outcome.dgamma = Some((self.dgamma(case, &rows, &dy), case.gamma_kind));
            }
            if case.affine.has_beta() && (want.beta || all) {
                outcome.dbeta = Some((self.dbeta(case, &rows, &dy), case.beta_kind));
            }
        }
        Ok(outcome)
    }
}
