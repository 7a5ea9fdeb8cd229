//! The statistic of the plain implementation, right or with one mistake.

use std::sync::atomic::Ordering;

use super::fault::Fault;
use super::scalar::Scalar;
use crate::case::Case;
use crate::kind::FloatKind;

/// Number of interleaved parts in which sums over a row are taken.
const LANES: usize = 16;

/// Number of terms after which the parts join the total, so that no part grows long.
const BLOCK: usize = 1024;

impl Scalar {
    fn epsilon(&self, case: &Case) -> f64 {
        if self.has(Fault::EpsilonIgnored) {
            return 0.0;
        }
        if self.has(Fault::EpsilonClamped) {
            return case.epsilon.max(1e-6);
        }
        if self.has(Fault::EpsilonStale) {
            let mut epsilons = self.epsilons.lock().expect("no panic while locked");
            return *epsilons.entry(case.shape.clone()).or_insert(case.epsilon);
        }
        case.epsilon
    }

    /// Adds up block after block, each in interleaved parts.
    pub(super) fn total(kind: FloatKind, terms: impl Iterator<Item = f64>) -> f64 {
        let mut total = 0.0;
        let mut lanes = [0.0; LANES];
        let mut close = |lanes: &mut [f64; LANES]| {
            total = lanes.iter().fold(total, |sum, lane| kind.round(sum + lane));
            *lanes = [0.0; LANES];
            total
        };
        for (index, term) in terms.enumerate() {
            if index > 0 && index % BLOCK == 0 {
                close(&mut lanes);
            }
            let lane = &mut lanes[index % LANES];
            *lane = kind.round(*lane + term);
        }
        close(&mut lanes)
    }

    /// Where the sum of squares of a row starts; it then goes round.
    fn start(&self, case: &Case) -> usize {
        let start = match self.fault {
            Some(Fault::OrderByCall) => self.calls.fetch_add(1, Ordering::Relaxed),
            Some(Fault::OrderByBatch) => case.rows(),
            Some(Fault::OrderByRank) => case.shape.len(),
            Some(Fault::OrderByPartial) => usize::from(case.partial.is_some()),
            _ => 0,
        };
        start % 7
    }

    /// The reciprocal statistic of one row.
    fn rstd(
        &self,
        case: &Case,
        row: &[f64],
        start: usize,
        epsilon: f64,
        arithmetic: FloatKind,
    ) -> f64 {
        let kind = if self.has(Fault::StatisticInHalf) {
            case.x_kind
        } else {
            arithmetic
        };
        let r = |value| kind.round(value);
        let k = self.stat_len(case);
        let prefix = if self.has(Fault::StatisticOverRow) {
            row
        } else {
            &row[..k]
        };
        // Squares of larger values, or their sum, may be more than f32 can hold, and those of smaller ones less.
        let largest = prefix
            .iter()
            .fold(epsilon.sqrt(), |most, x| most.max(x.abs()));
        let scale = match largest {
            1e-10..1e15 => 1.0,
            _ => 2_f64.powf(-largest.log2().floor().clamp(-1000.0, 1000.0)),
        };
        let square = |x: &f64| {
            let square = r((x * scale) * (x * scale));
            if self.has(Fault::SquaresInHalf) {
                case.x_kind.round(square)
            } else {
                square
            }
        };
        let start = start.min(prefix.len());
        let mut total = Self::total(
            kind,
            prefix[start..].iter().chain(&prefix[..start]).map(square),
        );
        if self.has(Fault::PrefixMasked) {
            total += row[k..].iter().map(|x| x * 0.0).sum::<f64>();
        }
        let mean = r(total / prefix.len() as f64);
        let mut epsilon = r(epsilon * scale * scale);
        if self.has(Fault::EpsilonRescaled) {
            epsilon = r(epsilon * row.iter().map(|x| x * x).fold(1.0, f64::max));
        }
        if self.has(Fault::EpsilonOutsideRoot) {
            return r(scale / r(r(mean.sqrt()) + epsilon));
        }
        let mut root = r(r(mean + epsilon).sqrt());
        if self.has(Fault::RootMeanSquareRounded) {
            root = case.x_kind.round(root);
        }
        if self.has(Fault::ZeroRowNan) && mean == 0.0 {
            f64::NAN
        } else {
            r(scale / root)
        }
    }

    pub(super) fn stat_len(&self, case: &Case) -> usize {
        match case.partial {
            Some(p) if self.has(Fault::StatLenFloor) => {
                ((case.row_len() as f64 * p) as usize).max(1)
            }
            _ => case.stat_len(),
        }
    }

    /// The reciprocal statistics of all rows.
    pub(super) fn statistics(&self, case: &Case, x: &[f64], arithmetic: FloatKind) -> Vec<f64> {
        let (start, epsilon) = (self.start(case), self.epsilon(case));
        let rows = x.chunks_exact(case.row_len());
        let mut rstds: Vec<f64> = rows
            .map(|row| self.rstd(case, row, start, epsilon, arithmetic))
            .collect();
        let axes = case.shape.len();
        if self.has(Fault::LastTwoAxes) && axes >= 3 {
            for group in rstds.chunks_mut(case.shape[axes - 2].max(1)) {
                let mean = group.iter().map(|rstd| rstd.powi(-2)).sum::<f64>() / group.len() as f64;
                group.fill(arithmetic.round(1.0 / mean.sqrt()));
            }
        }
        for row in 1..rstds.len() {
            let takes = self.has(Fault::RowsMixed) && row % 2 == 1;
            let leaks = self.has(Fault::NanLeaks) && rstds[row - 1].is_nan();
            if takes || leaks {
                rstds[row] = rstds[row - 1];
            }
        }
        rstds
    }
}
