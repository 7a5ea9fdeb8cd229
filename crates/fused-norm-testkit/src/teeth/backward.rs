//! The backward pass of the plain implementation, right or with one mistake.

use super::fault::Fault;
use super::scalar::{Rows, Scalar};
use crate::case::Case;

/// Number of rows whose terms are added up before they join the total of a column.
const PARTIAL_ROWS: usize = 64;

impl Scalar {
    pub(super) fn dx(&self, case: &Case, rows: &Rows<'_>, dy: &[f64]) -> Vec<f64> {
        let Rows {
            x,
            rstds,
            gamma,
            arithmetic,
            ..
        } = rows;
        let r = |value| arithmetic.round(value);
        let (n, k) = (case.row_len(), self.stat_len(case));
        let gamma_at = |j: usize| match gamma {
            Some(gamma) if !self.has(Fault::GammaIgnoredInDx) => r(gamma[j]),
            _ => 1.0,
        };
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
        let mut dx = Vec::with_capacity(x.len());
        for ((row, dy), rstd) in x.chunks_exact(n).zip(dy.chunks_exact(n)).zip(*rstds) {
            let a = |j: usize| r(dy[j] * gamma_at(j));
            let c = Self::sum(*arithmetic, (0..summed).map(|j| r(a(j) * row[j])));
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
                dx.push(case.x_kind.round(value));
            }
        }
        dx
    }

    pub(super) fn dgamma(&self, case: &Case, rows: &Rows<'_>, dy: &[f64]) -> Vec<f64> {
        let r = |value| rows.arithmetic.round(value);
        let n = case.row_len();
        let normalised = |index: usize| {
            let x = rows.x[index];
            if self.has(Fault::DgammaWithoutRstd) {
                return x;
            }
            let normalised = r(x * rows.rstds[index / n]);
            match rows.gamma {
                Some(gamma) if self.has(Fault::DividesByGamma) => {
                    r(r(normalised * gamma[index % n]) / gamma[index % n])
                }
                _ => normalised,
            }
        };
        let sums = self.columns(case, rows, |index| r(dy[index] * normalised(index)));
        sums.into_iter()
            .map(|sum| case.gamma_kind.round(sum))
            .collect()
    }

    pub(super) fn dbeta(&self, case: &Case, rows: &Rows<'_>, dy: &[f64]) -> Vec<f64> {
        let mut sums = self.columns(case, rows, |index| dy[index]);
        if let (true, Some(gamma)) = (self.has(Fault::DbetaScaled), rows.gamma) {
            sums.iter_mut()
                .zip(gamma)
                .for_each(|(sum, gamma)| *sum *= gamma);
        }
        sums.into_iter()
            .map(|sum| case.beta_kind.round(sum))
            .collect()
    }

    /// Sums over rows in two stages: groups of rows, then the groups.
    fn columns(&self, case: &Case, rows: &Rows<'_>, term: impl Fn(usize) -> f64) -> Vec<f64> {
        let n = case.row_len();
        let mut count = case.rows();
        if self.has(Fault::LastPartialDropped) && count > 4 {
            count -= count % 4;
        }
        let kind = if self.has(Fault::DgammaInHalf) {
            case.x_kind
        } else {
            rows.arithmetic
        };
        let group = if self.has(Fault::DgammaInHalf) {
            usize::MAX
        } else {
            PARTIAL_ROWS
        };
        let mut totals = vec![0.0; n];
        let mut first = 0;
        while first < count {
            let last = count.min(first.saturating_add(group));
            let mut partial = vec![0.0; n];
            for row in first..last {
                for (j, sum) in partial.iter_mut().enumerate() {
                    *sum = kind.round(*sum + term(row * n + j));
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
