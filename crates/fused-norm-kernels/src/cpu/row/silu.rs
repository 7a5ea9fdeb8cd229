//! `silu(v) = v·σ(v)`, with `σ(v) = 1/(1 + exp(−v))`, and its derivative, without branches or tables,
//! so that a loop over them becomes SIMD: in f32, as the exponential of f64 is `libm`'s.
//!
//! Both are written in `exp(−|v|)`, which cannot overflow. Far on the left they are small because it
//! is, while it may already be too small for the type: it comes in factors, and the last one is
//! multiplied last.

use crate::cpu::Statistic;

/// What an exponential is made of.
pub trait Decay: Sized {
    /// From here on `a·exp(−a)` is 0.
    const END: Self;

    /// Three factors of `exp(−a)`, 0 ≤ a ≤ [`END`](Self::END), of which the first is near 1.
    fn decay(self) -> [Self; 3];
}

impl Decay for f32 {
    const END: f32 = 150.0;

    /// `a = f − n·ln 2` with an integer n and `|f| ≤ ln 2 / 2`; then `exp(−a)` is `exp(−f)`, of which
    /// eight terms of the series are enough, and a power of two, which is returned in halves.
    #[inline(always)]
    fn decay(self) -> [f32; 3] {
        /// Adding it rounds to an integer, which is then in the last bits.
        const SHIFT: f32 = 12_582_912.0; // 1.5·2^23
        // ln 2 in two parts: the first has so few digits that its product with n is exact.
        const LN_2_HIGH: f32 = 355.0 / 512.0;
        const LN_2_LOW: f32 = -2.121_944_4e-4;

        let shifted = self * -core::f32::consts::LOG2_E + SHIFT;
        let n = shifted - SHIFT;
        let f = (-self - n * LN_2_HIGH) - n * LN_2_LOW;
        let mut tail = 1.0 / 5040.0;
        for coefficient in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5] {
            tail = tail * f + coefficient;
        }
        let exp = (tail * (f * f) + f) + 1.0;

        let n = shifted.to_bits().wrapping_sub(SHIFT.to_bits()) as i32;
        let half = n >> 1;
        [exp, power_of_two(half), power_of_two(n.wrapping_sub(half))]
    }
}

/// For a normal power; of anything else, anything.
#[inline(always)]
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits((exponent.wrapping_add(127) << 23) as u32)
}

impl Decay for f64 {
    const END: f64 = 1500.0;

    #[inline(always)]
    fn decay(self) -> [f64; 3] {
        let root = libm::exp(-0.5 * self);
        [1.0, root, root]
    }
}

/// `v·σ(v)`
#[inline(always)]
pub(super) fn silu<S: Statistic>(v: S) -> S {
    Parts::of(v).silu()
}

/// `v·σ(v)` and `σ(v)·(1 + v·(1 − σ(v)))`
#[inline(always)]
pub(super) fn silu_and_slope<S: Statistic>(v: S) -> (S, S) {
    let parts = Parts::of(v);
    (parts.silu(), parts.slope())
}

struct Parts<S> {
    negative: bool,
    /// v, but no less than −[`END`](Decay::END).
    v: S,
    /// `|v|`, but no more than [`END`](Decay::END).
    magnitude: S,
    /// `exp(−|v|)`
    exp: S,
    /// `σ(|v|)`
    sigmoid: S,
    /// The factors that make `σ(v)` of `σ(|v|)`: 1, or those of `exp(−|v|)`.
    factors: [S; 3],
}

impl<S: Statistic> Parts<S> {
    #[inline(always)]
    fn of(v: S) -> Self {
        let zero = S::default();
        let negative = v < zero;
        let magnitude = if negative { zero - v } else { v };
        // A NaN is greater than nothing, and stays.
        let magnitude = if magnitude > S::END {
            S::END
        } else {
            magnitude
        };
        let [a, b, c] = magnitude.decay();
        let exp = a * b * c;
        Self {
            negative,
            v: if negative { zero - magnitude } else { v },
            magnitude,
            exp,
            sigmoid: S::ONE / (S::ONE + exp),
            factors: if negative { [a, b, c] } else { [S::ONE; 3] },
        }
    }

    #[inline(always)]
    fn times_sigmoid(&self, value: S) -> S {
        let [a, b, c] = self.factors;
        value * self.sigmoid * a * b * c
    }

    #[inline(always)]
    fn silu(&self) -> S {
        self.times_sigmoid(self.v)
    }

    /// `1 − σ(|v|)` is `exp(−|v|)·σ(|v|)`, and `1 − σ(−|v|)` is `σ(|v|)`.
    #[inline(always)]
    fn slope(&self) -> S {
        let rest = if self.negative {
            S::default() - self.sigmoid
        } else {
            self.exp * self.sigmoid
        };
        self.times_sigmoid(S::ONE + self.magnitude * rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In f64, of what f32 or f64 holds.
    fn exact(v: f64) -> (f64, f64) {
        let exp = libm::exp(-v.abs());
        let (sigmoid, rest) = if v < 0.0 {
            (exp / (1.0 + exp), 1.0 / (1.0 + exp))
        } else {
            (1.0 / (1.0 + exp), exp / (1.0 + exp))
        };
        (v * sigmoid, sigmoid * (1.0 + v * rest))
    }

    /// Distance in units of the last place that f32 has at `exact`.
    fn ulps(found: f32, exact: f64) -> f64 {
        let step = libm::exp2(libm::floor(libm::log2(exact.abs().max(1.2e-38))) - 23.0);
        (f64::from(found) - exact).abs() / step
    }

    fn samples() -> impl Iterator<Item = f32> {
        let fine = (-9_000_000..=9_000_000).step_by(37);
        fine.map(|i| i as f32 * 1e-5)
            .chain((0..1_000_000).map(|i| f32::from_bits(i * 1117)))
            .chain((0..1_000_000).map(|i| -f32::from_bits(i * 1117)))
    }

    #[test]
    fn the_exponential_is_right_to_two_units_of_the_last_place() {
        let mut worst = 0.0_f64;
        for i in 0..=3_000_000 {
            let a = i as f32 * 5e-5;
            let [near, half, rest] = a.decay();
            assert!((0.7..1.5).contains(&near), "{a}: {near}");
            let scale = f64::from(half) * f64::from(rest);
            let off = ulps(near, libm::exp(-f64::from(a)) / scale);
            worst = worst.max(off);
        }
        assert!(worst < 2.0, "{worst}");
    }

    #[test]
    fn silu_and_its_slope_are_right_over_the_whole_range() {
        let (mut worst, mut worst_slope) = (0.0_f64, 0.0_f64);
        for v in samples() {
            if v.is_nan() {
                continue;
            }
            let (value, slope) = silu_and_slope(v);
            let (exact_value, exact_slope) = exact(f64::from(v));
            worst = worst.max(ulps(value, exact_value));
            assert_eq!(value.to_bits(), silu(v).to_bits());
            // The slope crosses zero at −1.278: there an error is one of the terms that cancel.
            let magnitude =
                exact_slope
                    .abs()
                    .max(if (-2.0..-0.8).contains(&v) { 0.2 } else { 0.0 });
            let off = (f64::from(slope) - exact_slope).abs();
            worst_slope = worst_slope.max(
                ulps((magnitude + off) as f32, magnitude)
                    .min(off / magnitude.max(1.2e-38) * f64::from(1_u32 << 23)),
            );
        }
        assert!(worst < 4.0, "{worst}");
        assert!(worst_slope < 8.0, "{worst_slope}");
    }

    #[test]
    fn f64_is_right_too() {
        for i in -7_400..=7_400 {
            let v = f64::from(i) * 0.1 + 1e-3;
            let (value, slope) = silu_and_slope(v);
            let (exact_value, exact_slope) = exact(v);
            if v > -700.0 {
                assert!(
                    (value - exact_value).abs() <= 1e-15 * exact_value.abs(),
                    "{v}"
                );
            }
            assert!(
                (slope - exact_slope).abs() <= 1e-15 * (1.0 + v.abs()),
                "{v}"
            );
        }
    }

    fn ends<S: Statistic>() {
        let of = |v: f64| {
            let (value, slope) = silu_and_slope(S::from_f64(v));
            (value.to_f64(), slope.to_f64())
        };
        assert_eq!(of(f64::INFINITY), (f64::INFINITY, 1.0));
        assert_eq!(of(f64::NEG_INFINITY), (0.0, 0.0));
        assert_eq!(of(0.0), (0.0, 0.5));
        assert_eq!(of(-0.0).0.to_bits(), (-0.0_f64).to_bits());
        let (value, slope) = of(f64::NAN);
        assert!(value.is_nan() && slope.is_nan());
    }

    #[test]
    fn infinities_have_their_limits_and_nan_stays() {
        ends::<f32>();
        ends::<f64>();
    }
}
