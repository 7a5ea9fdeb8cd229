//! The backward pass of the plain implementation, right or with one mistake.

use super::fault::Fault;
use super::operands::Operands;
use super::scalar::Scalar;
use crate::case::{Case, GateOrder, Variant};
use crate::kind::FloatKind;

/// Number of rows whose terms are added up before they join the total of a column.
const PARTIAL_ROWS: usize = 64;

/// Every gradient, those of tensors row after row.
pub(super) struct Gradients {
    pub dx: Vec<f64>,
    pub dsecond: Option<Vec<f64>>,
    pub dgamma: Vec<f64>,
    pub dbeta: Vec<f64>,
}

impl Scalar {
    pub(super) fn backward(&self, case: &Case, operands: &Operands, rstds: &[f64]) -> Gradients {
        let r = |value| operands.arithmetic.round(value);
        let dy = case.in_rows(&case.dy());
        let product =
            |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| r(a * b)).collect() };
        let slopes = |gate: &[f64]| -> Vec<f64> {
            let slope = |v: &f64| self.silu_slope(*v, operands.arithmetic);
            gate.iter().map(slope).collect()
        };
        // The gradient of what comes out of the normalisation.
        let dn = match (case.variant, &operands.silu) {
            (Variant::Gated(GateOrder::AfterNorm), Some(silu)) => product(&dy, silu),
            _ => dy.clone(),
        };
        let mut dx = self.dx(case, operands, rstds, &dn);
        let mut dsecond = None;
        match (case.variant, &operands.second, &operands.silu) {
            (Variant::Add, ..) => {
                if let Some(dsum) = case.dsum() {
                    let added = dx.iter_mut().zip(case.in_rows(&dsum));
                    added.for_each(|(dx, dsum)| *dx = r(case.x_kind.round(*dx) + dsum));
                }
                dsecond = Some(dx.clone()).filter(|_| !self.has(Fault::ResidualGradientDropped));
            }
            (Variant::Gated(GateOrder::AfterNorm), Some(gate), _) => {
                let mut n = self.normalised(case, operands, rstds);
                if let (true, Some(beta)) =
                    (self.has(Fault::GateGradientWithoutBeta), &operands.beta)
                {
                    let beta = beta.iter().cycle();
                    n.iter_mut().zip(beta).for_each(|(n, beta)| *n -= beta);
                }
                dsecond = Some(product(&product(&dy, &n), &slopes(gate)));
            }
            (Variant::Gated(GateOrder::BeforeNorm), Some(gate), Some(silu)) => {
                dsecond = Some(product(&product(&dx, &operands.x), &slopes(gate)));
                if !self.has(Fault::GateIgnoredInDx) {
                    dx = product(&dx, silu);
                }
            }
            _ => {}
        }
        if self.has(Fault::GateGradientMissing) && operands.silu.is_some() {
            dsecond = None;
        }
        let stored = |values: Vec<f64>| -> Vec<f64> {
            let round = |value: f64| case.x_kind.round(value);
            values.into_iter().map(round).collect()
        };
        let shift = if self.has(Fault::GateIgnoredInDbeta) {
            &dy
        } else {
            &dn
        };
        Gradients {
            dx: stored(dx),
            dsecond: dsecond.map(stored),
            dgamma: self.dgamma(case, operands, rstds, &dn),
            dbeta: self.dbeta(case, operands, shift),
        }
    }

    /// The gradient of what is normalised, in the kind of the statistic.
    fn dx(&self, case: &Case, operands: &Operands, rstds: &[f64], dy: &[f64]) -> Vec<f64> {
        let Operands {
            kept,
            factor,
            arithmetic,
            ..
        } = operands;
        let r = |value| arithmetic.round(value);
        let (n, k) = (case.row_len(), self.stat_len(case));
        let factor = factor
            .as_deref()
            .filter(|_| !self.has(Fault::GammaIgnoredInDx));
        let gamma_rows = case.gamma_rows();
        let corrected = match () {
            () if self.has(Fault::CorrectionBeyondPrefix) => n,
            () if self.has(Fault::CorrectionDropped) => 0,
            () => k,
        };
        let summed = if self.has(Fault::CorrectionOverPrefix) {
            k
        } else {
            n
        };
        let divisor = if self.has(Fault::CorrectionOverRowLen) {
            n
        } else {
            k
        } as f64;
        let sign = if self.has(Fault::CorrectionSign) {
            -1.0
        } else {
            1.0
        };
        let mut dx = Vec::with_capacity(kept.len());
        let rows = kept.chunks_exact(n).zip(dy.chunks_exact(n)).zip(rstds);
        for (index, ((row, dy), rstd)) in rows.enumerate() {
            let first = index % gamma_rows * n;
            let a = |j: usize| factor.map_or(dy[j], |factor| r(dy[j] * factor[first + j]));
            let c = Self::total(*arithmetic, (0..summed).map(|j| r(a(j) * row[j])));
            let factor = sign * r(r(c * rstd) / divisor);
            let cube = r(r(rstd * rstd) * rstd);
            for (j, x) in row.iter().enumerate() {
                let value = if j >= corrected {
                    r(rstd * a(j))
                } else if self.has(Fault::RstdCubed) {
                    r(r(rstd * a(j)) - r(r(r(cube / divisor) * c) * x))
                } else {
                    r(rstd * r(a(j) - r(r(x * rstd) * factor)))
                };
                dx.push(value);
            }
        }
        dx
    }

    fn dgamma(&self, case: &Case, operands: &Operands, rstds: &[f64], dy: &[f64]) -> Vec<f64> {
        let r = |value| operands.arithmetic.round(value);
        let n = case.row_len();
        let period = n * case.gamma_rows();
        let normalised = |index: usize| {
            let x = operands.kept[index];
            if self.has(Fault::DgammaWithoutRstd) {
                return x;
            }
            let normalised = r(x * rstds[index / n]);
            match &operands.gamma {
                Some(gamma) if self.has(Fault::DividesByGamma) => {
                    r(r(normalised * gamma[index % period]) / gamma[index % period])
                }
                _ => normalised,
            }
        };
        let mut sums = self.columns(case, operands.arithmetic, |index| {
            r(dy[index] * normalised(index))
        });
        if self.has(Fault::DgammaOverGroups) {
            let total = |j: usize| sums[j % n..].iter().step_by(n).sum();
            sums = (0..sums.len()).map(total).collect();
        }
        sums.into_iter()
            .map(|sum| case.gamma_kind.round(sum))
            .collect()
    }

    fn dbeta(&self, case: &Case, operands: &Operands, dy: &[f64]) -> Vec<f64> {
        let mut sums = self.columns(case, operands.arithmetic, |index| dy[index]);
        if let (true, Some(gamma)) = (self.has(Fault::DbetaScaled), &operands.gamma) {
            sums.iter_mut()
                .zip(gamma)
                .for_each(|(sum, gamma)| *sum *= gamma);
        }
        sums.into_iter()
            .map(|sum| case.beta_kind.round(sum))
            .collect()
    }

    /// Sums over the rows that share a row of gamma, in two stages: groups of rows, then the groups.
    fn columns(&self, case: &Case, arithmetic: FloatKind, term: impl Fn(usize) -> f64) -> Vec<f64> {
        let columns = case.row_len() * case.gamma_rows();
        let mut count = case.rows() / case.gamma_rows();
        if self.has(Fault::LastPartialDropped) && count > 4 {
            count -= count % 4;
        }
        let kind = if self.has(Fault::DgammaInHalf) {
            case.x_kind
        } else {
            arithmetic
        };
        let group = if self.has(Fault::DgammaInHalf) {
            usize::MAX
        } else {
            PARTIAL_ROWS
        };
        let mut totals = vec![0.0; columns];
        let mut first = 0;
        while first < count {
            let last = count.min(first.saturating_add(group));
            let mut partial = vec![0.0; columns];
            for row in first..last {
                for (j, sum) in partial.iter_mut().enumerate() {
                    *sum = kind.round(*sum + term(row * columns + j));
                }
            }
            totals
                .iter_mut()
                .zip(partial)
                .for_each(|(total, partial)| *total = kind.round(*total + partial));
            first = last;
        }
        if self.has(Fault::EmptyUninitialised) && count == 0 {
            totals.fill(f64::NAN);
        }
        self.keep(&mut totals);
        totals
    }
}
