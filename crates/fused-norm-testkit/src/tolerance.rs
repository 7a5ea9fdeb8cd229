//! How far from the exact value may a result be?

use crate::kind::FloatKind;

/// What a result may differ by: see [`tolerance`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Kind that the result is rounded to.
    pub output: FloatKind,
    /// Error allowed before that rounding, as a fraction of the magnitude.
    pub relative: f64,
    /// Error allowed before that rounding, whatever the magnitude.
    pub absolute: f64,
}

/// The tolerance of a quantity, from the kind of its output, the kind in which it is computed, and
/// the number of terms in the longest sum behind it.
///
/// A result is right when it is the correct rounding, to `output`, of *some* value within
/// `relative * magnitude + absolute` of the exact one. The magnitude (see
/// [`Exact`](crate::oracle::Exact)) is the sum of the absolute values of the terms of the result, so
/// results that cancel are judged by what cancelled. For a 16-bit output this means: the correctly
/// rounded value, or its neighbour where the exact value is so close to a tie that arithmetic in
/// `statistic` cannot be expected to tell the two apart.
///
/// With `u` the unit roundoff of `statistic`, `relative = u * (base + sqrt(summed) / 8)`:
///
/// * `base` is 8 for `f32` (4.8e-7). A careful computation of one element rounds the mean, the sum
///   with epsilon, the root (the first two halved by it), its reciprocal, and two or three products:
///   at most 5 u. The rest is room for a reciprocal square root of 2 ulp (4 u), as GPUs have.
///   The same holds for 16-bit outputs: 2^-23 (2 u) is too little for them, as a plain right
///   implementation exceeds it in 2 of a million f16 outputs.
/// * `base` is 90 for `f64` (1e-14), as the oracle is itself computed in `f64`, with an error of up
///   to 10 u, and reciprocal square roots in software lose a few bits more often there.
/// * `sqrt(summed) / 8` is the growth of sums. Adding `m` terms of one sign one after the other
///   makes an error of `0.17 u sqrt(m)` of their sum (root mean square); an implementation that
///   adds in 4 interleaved parts divides it by `sqrt(4)`. 1/8 leaves half as much again for dx,
///   dgamma and dbeta, and three times as much for y, where the root halves the error. Long rows
///   need sums of sums, as one running sum per vector lane drifts. The bound is for terms that
///   differ: adding one inexact term again and again errs the same way each time, so the catalogue
///   repeats identical rows or columns only where their sums are exact, or few.
///
/// `absolute` is the smallest normal value of `statistic`: hardware may replace smaller intermediate
/// values by zero.
pub fn tolerance(output: FloatKind, statistic: FloatKind, summed: usize) -> Tolerance {
    let base = if statistic == FloatKind::F64 {
        90.0
    } else {
        8.0
    };
    Tolerance {
        output,
        relative: statistic.unit_roundoff() * (base + (summed as f64).sqrt() / 8.0),
        absolute: statistic.min_normal(),
    }
}

/// What is said about one element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Is it right?
    pub accepted: bool,
    /// Part of the slack that it needed. Not finite where one of the values is not.
    pub used: f64,
    /// The error that is allowed.
    pub allowed: f64,
}

impl Tolerance {
    /// Error allowed before the rounding to the output's kind.
    pub fn slack(&self, magnitude: f64) -> f64 {
        self.relative * magnitude + self.absolute
    }

    /// Largest error that may be seen after that rounding: the slack and half a step.
    pub fn allowed(&self, want: f64, magnitude: f64) -> f64 {
        self.slack(magnitude) + self.output.ulp(want) / 2.0
    }

    /// The error beyond half a step of the output's kind, as a fraction of the slack. Not finite
    /// where one of the values is not.
    pub fn used(&self, got: f64, want: f64, magnitude: f64) -> f64 {
        let beyond = (got - want).abs() - self.output.ulp(want) / 2.0;
        if beyond < 0.0 {
            0.0
        } else {
            beyond / self.slack(magnitude)
        }
    }

    /// All that is said about `got`: see [`Tolerance::accepts`], [`Tolerance::used`] and
    /// [`Tolerance::allowed`].
    pub fn read(&self, got: f64, want: f64, magnitude: f64) -> Reading {
        Reading {
            accepted: self.accepts(got, want, magnitude),
            used: self.used(got, want, magnitude),
            allowed: self.allowed(want, magnitude),
        }
    }

    /// Is `got` right, where `want` is exact and was added up from terms of this magnitude?
    ///
    /// NaN is right only where NaN is expected, an infinity only where the same one is.
    pub fn accepts(&self, got: f64, want: f64, magnitude: f64) -> bool {
        if want.is_nan() || got.is_nan() {
            return want.is_nan() && got.is_nan();
        }
        if got == self.output.round(want) {
            return true;
        }
        let slack = self.slack(magnitude);
        want.is_finite()
            && slack.is_finite()
            && self.output.round(want - slack) <= got
            && got <= self.output.round(want + slack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FloatKind::{BF16, F16, F32, F64};

    #[test]
    fn forward_bounds_are_a_few_roundings() {
        assert!(tolerance(F32, F32, 64).relative < 5.5e-7);
        assert!(tolerance(F32, F32, 131_072).relative < 4e-6);
        assert!(tolerance(F64, F64, 4096).relative < 1.1e-14);
    }

    #[test]
    fn half_outputs_must_be_correctly_rounded_away_from_ties() {
        for kind in [F16, BF16] {
            let tolerance = tolerance(kind, F32, 64);
            let ulp = kind.ulp(1.0);
            assert!(tolerance.accepts(1.0, 1.0 + 0.49 * ulp, 1.0));
            assert!(!tolerance.accepts(1.0, 1.0 + 0.51 * ulp, 1.0));
            assert!(!tolerance.accepts(1.0 + ulp, 1.0 + 0.49 * ulp, 1.0));
            let tie = 1.0 + ulp / 2.0;
            for near in [tie - 1e-7, tie, tie + 1e-7] {
                assert!(
                    tolerance.accepts(1.0, near, 1.0) && tolerance.accepts(1.0 + ulp, near, 1.0)
                );
                assert!(!tolerance.accepts(1.0 - ulp, near, 1.0));
            }
        }
    }

    #[test]
    fn cancelled_results_are_judged_by_what_cancelled() {
        let tolerance = tolerance(F32, F32, 4);
        assert!(tolerance.accepts(3e-7, 0.0, 1.0));
        assert!(!tolerance.accepts(3e-7, 0.0, 1e-3));
    }

    #[test]
    fn nan_and_infinities_match_only_themselves() {
        let tolerance = tolerance(F16, F32, 4);
        assert!(tolerance.accepts(f64::NAN, f64::NAN, f64::NAN));
        assert!(!tolerance.accepts(0.0, f64::NAN, f64::NAN));
        assert!(!tolerance.accepts(f64::NAN, 0.0, 1.0));
        assert!(tolerance.accepts(f64::INFINITY, f64::INFINITY, f64::INFINITY));
        assert!(!tolerance.accepts(f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY));
        assert!(!tolerance.accepts(65504.0, f64::INFINITY, f64::INFINITY));
        // Finite, but beyond what the output can hold.
        assert!(tolerance.accepts(f64::INFINITY, 7e4, 7e4));
        assert!(!tolerance.accepts(65504.0, 7e4, 7e4));
    }

    #[test]
    fn results_below_the_normal_range_may_be_flushed() {
        assert!(tolerance(F32, F32, 4).accepts(0.0, 1e-39, 1e-39));
        assert!(!tolerance(F32, F32, 4).accepts(0.0, 1e-37, 1e-37));
        assert!(!tolerance(F16, F32, 4).accepts(0.0, 1e-5, 1e-5));
    }
}
