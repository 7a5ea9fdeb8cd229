//! Which results are right where a result is rounded on the way?
//!
//! One rounding at the end is the [`Tolerance`]'s. Here are the others: y that is rounded before
//! gamma, and a gradient that is rounded before another is added.

use crate::case::Case;
use crate::kind::FloatKind;
use crate::oracle::Exact;
use crate::tolerance::{Reading, Tolerance, tolerance};

/// The results that rounding after every step can give.
pub(super) struct Staged {
    /// What the exact `x · rstd` gives.
    pub want: Vec<f64>,
    bounds: Vec<(f64, f64)>,
    kind: FloatKind,
}

impl Staged {
    /// y of a case whose rows are rounded before gamma.
    ///
    /// `x · rstd` is right within the tolerance, so its rounding is one of a few values. Every later
    /// step is monotone in what it is given, so the results lie between those of the least and of
    /// the greatest of them. Parameters in a kind wider than the statistic's may or may not be
    /// rounded to that first.
    pub fn y(case: &Case) -> Self {
        let kind = case.x_kind;
        let tolerance = tolerance(kind, case.statistic(), case.stat_len());
        let round = |value: f64| kind.round(case.statistic().round(value));
        let factor = |gamma: f64| {
            let wide = if case.zero_centered {
                1.0 + gamma
            } else {
                gamma
            };
            let narrow = case.statistic().round(gamma);
            let narrow = if case.zero_centered {
                1.0 + narrow
            } else {
                narrow
            };
            [kind.round(wide), round(narrow)]
        };
        let gamma = case.gamma().expect("without gamma there is one rounding");
        let beta = case.beta();
        let period = gamma.len();
        let Exact { values, magnitudes } = case.normalised();
        let mut staged = Self {
            want: Vec::with_capacity(values.len()),
            bounds: Vec::with_capacity(values.len()),
            kind,
        };
        for (index, (value, magnitude)) in values.iter().zip(magnitudes).enumerate() {
            let (row, column) = case.row_and_column(index);
            let parameter = (row * case.row_len() + column) % period;
            let factors = factor(gamma[parameter]);
            let slack = tolerance.slack(magnitude);
            let ends = [value - slack, value + slack].map(|end| kind.round(end));
            let mut all = ends
                .map(|end| factors.map(|factor| round(end * factor)))
                .concat();
            let mut want = round(kind.round(*value) * factors[0]);
            if let Some(beta) = &beta {
                let beta = beta[parameter];
                let betas = [kind.round(beta), round(beta)];
                all = all
                    .iter()
                    .flat_map(|y| betas.map(|beta| round(y + beta)))
                    .collect();
                want = round(want + betas[0]);
            }
            let low = all.iter().fold(f64::INFINITY, |low, y| low.min(*y));
            let high = all.iter().fold(f64::NEG_INFINITY, |high, y| high.max(*y));
            staged.want.push(want);
            // Hardware may flush a product.
            staged
                .bounds
                .push((low - tolerance.absolute, high + tolerance.absolute));
        }
        staged
    }

    /// What is said about an element.
    pub fn read(&self, index: usize, got: f64) -> Reading {
        let (want, (low, high)) = (self.want[index], self.bounds[index]);
        let slack = (high - want).max(want - low);
        let half = self.kind.ulp(want) / 2.0;
        let accepted = got == want || (got.is_nan() && want.is_nan());
        Reading {
            accepted: accepted || (want.is_finite() && low <= got && got <= high),
            used: if accepted {
                0.0
            } else {
                ((got - want).abs() - half).max(0.0) / slack
            },
            allowed: slack,
        }
    }
}

/// What is said about a gradient that was rounded before `added` joined it: the first rounding errs
/// by up to half a step of what it rounds.
pub(super) fn read_added(
    tolerance: &Tolerance,
    got: f64,
    want: f64,
    magnitude: f64,
    added: f64,
) -> Reading {
    let first = (want - added).abs() + tolerance.slack(magnitude);
    let half = tolerance.output.ulp(first) / 2.0;
    let widened = Tolerance {
        absolute: tolerance.absolute + half,
        ..*tolerance
    };
    let beyond = (got - want).abs() - half - tolerance.output.ulp(want) / 2.0;
    Reading {
        // As everywhere, what two right roundings take is no part of the slack.
        used: if beyond < 0.0 {
            0.0
        } else {
            beyond / tolerance.slack(magnitude)
        },
        ..widened.read(got, want, magnitude)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{AffineForm, Fill, Rounding};
    use crate::llama::llama_order;
    use FloatKind::{BF16, F16, F32};

    fn llama(kind: FloatKind) -> Case {
        let case = Case::new("llama", kind, &[64, 4096]).affine(AffineForm::Scale);
        case.rounding(Rounding::BeforeGamma)
    }

    /// The judge, the order of LLaMA's code and the plain subject are written apart.
    #[test]
    fn llamas_own_order_is_right_and_one_rounding_is_not() {
        for kind in [F32, F16, BF16] {
            let case = llama(kind);
            let staged = Staged::y(&case);
            let gamma = case.gamma().unwrap();
            let y = llama_order(&case.x(), &gamma, case.epsilon, kind);
            for (index, y) in y.iter().enumerate() {
                let reading = staged.read(index, *y);
                assert!(reading.accepted, "{kind} {index}: {y}");
            }
            let subject = crate::Scalar::right();
            let outcome = crate::Subject::run(&subject, &case, crate::Want::NOTHING).unwrap();
            assert!(outcome.y == y, "{kind}: the plain subject");
            if kind == F32 {
                continue;
            }
            let once = case.forward().y.values;
            let once = once.iter().map(|y| kind.round(*y)).enumerate();
            let refused = once.filter(|(index, y)| !staged.read(*index, *y).accepted);
            let share = refused.count() as f64 / case.elements() as f64;
            assert!(share > 0.1, "{kind}: {share}");
        }
    }

    #[test]
    fn only_a_tie_leaves_a_choice() {
        let case = llama(BF16);
        let staged = Staged::y(&case);
        let choices = staged
            .bounds
            .iter()
            .filter(|(low, high)| high - low > 1e-30);
        let share = choices.count() as f64 / case.elements() as f64;
        assert!(share < 1e-3, "{share}");
    }

    #[test]
    fn a_gradient_may_be_rounded_before_another_joins_it() {
        let tolerance = tolerance(BF16, F32, 4);
        let (ulp, added) = (BF16.ulp(1.0), -1.0);
        // Just above a tie: 1 + 0.51 ulp, to which -1 is added.
        let want = 0.51 * ulp;
        let read = |got| read_added(&tolerance, got, want, 2.0, added);
        assert!(read(ulp).accepted && read(want).accepted);
        assert!(!read(-ulp).accepted && !read(2.0 * ulp).accepted);
        // Nothing was added: the right neighbour or nothing.
        assert!(!read_added(&tolerance, 0.0, 1.0, 1.0, 0.0).accepted);
        assert!(read(ulp).used == 0.0, "{:?}", read(ulp));
    }

    #[test]
    fn factors_of_both_signs_and_infinite_rows_have_bounds() {
        let gamma = Fill::given(vec![-1.0, 0.0, 1.0]);
        let case = Case::new("signs", F16, &[1, 3])
            .affine(AffineForm::ScaleShift)
            .rounding(Rounding::BeforeGamma)
            .gamma_fill(gamma)
            .fill(Fill::given(vec![1.0, 2.0, f64::INFINITY]));
        let staged = Staged::y(&case);
        assert!(staged.want[2].is_nan() && staged.read(2, f64::NAN).accepted);
        assert!(!staged.read(2, 0.0).accepted);
        let beta = case.beta().unwrap();
        assert!(staged.read(0, beta[0]).accepted && staged.read(1, beta[1]).accepted);
    }
}
