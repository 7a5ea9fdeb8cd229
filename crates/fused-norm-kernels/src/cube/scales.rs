//! By what values are multiplied before they are squared, so that their squares stay within the type.

use cubecl::ir::{ElemType, FloatKind};

use super::Form;
use super::types::statistic_type;

/// Powers of two for one epsilon, and epsilon at the first of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scales {
    /// Times its square, epsilon is a normal number with room for a digit less than its last one below:
    /// squares that vanish are nothing beside it.
    pub near: f64,
    /// Counts for rows whose squares overflow at `near`: epsilon is nothing beside them. Not so far below
    /// `near` that such squares vanish.
    pub far: f64,
    /// epsilon · near²
    pub epsilon: f64,
}

/// Of a type of the statistic.
struct Range {
    /// The power of two that epsilon gets to, or the one above it.
    epsilon: i32,
    /// At this power of two, rows of 2³¹ of the largest values have finite squares.
    far: i32,
    /// Most powers of two from `near` down to `far`: the squares of a row that overflow at `near` are so large
    /// at `far` that what vanishes among 2²⁹ of them is nothing.
    apart: i32,
    /// The smallest and the largest `near`. Larger ones would keep apart epsilons whose rstd the type cannot
    /// hold.
    near: [i32; 2],
}

impl Range {
    fn of(statistic: ElemType) -> Self {
        match statistic {
            ElemType::Float(FloatKind::F64) => Self {
                epsilon: f64::MIN_EXP - 1 + f64::MANTISSA_DIGITS as i32,
                far: -540,
                apart: 960,
                near: [-1000, 400],
            },
            _ => Self {
                epsilon: f32::MIN_EXP - 1 + f32::MANTISSA_DIGITS as i32,
                far: -80,
                apart: 100,
                near: [-100, 78],
            },
        }
    }
}

/// Whether the squares of rows of x's type can overflow at `near`. Those of f16, and of the sum of two, are at
/// most 2³⁴ in f32, at a scale of at most 1, and no square vanishes at 1. What a gate multiplies can be of any
/// size.
pub(super) fn may_overflow(x: ElemType, form: Form) -> bool {
    x != ElemType::Float(FloatKind::F16) || form.gates_before()
}

impl Scales {
    /// For rows of type `x`.
    pub(super) fn of(epsilon: f64, x: ElemType, form: Form) -> Self {
        let mut range = Range::of(statistic_type(x));
        if !may_overflow(x, form) {
            range.near[1] = 0;
        }
        // epsilon is at least the `exponent`th power of two; a subnormal one is a larger one to this.
        let exponent = (epsilon.to_bits() >> 52) as i32 - 1023;
        let [least, most] = range.near;
        let near = (range.epsilon - exponent + 1)
            .div_euclid(2)
            .clamp(least, most);
        let far = range.far.max(near - range.apart);
        let [near, far] = [near, far].map(power_of_two);
        Self {
            near,
            far,
            epsilon: epsilon * near * near,
        }
    }
}

/// Of an exponent of normal numbers.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(epsilon: f64, x: ElemType) -> Scales {
        Scales::of(epsilon, x, Form::default())
    }

    const F32: ElemType = ElemType::Float(FloatKind::F32);
    const F64: ElemType = ElemType::Float(FloatKind::F64);

    #[test]
    fn epsilon_keeps_its_digits() {
        for epsilon in [
            1e30, 1.0, 1e-5, 1e-6, 1e-8, 1e-12, 1e-20, 1e-28, 1e-40, 1e-73,
        ] {
            for (statistic, digits) in [
                (F32, f64::from(f32::MIN_POSITIVE) * 2_f64.powi(24)),
                (F64, f64::MIN_POSITIVE * 2_f64.powi(53)),
            ] {
                let scales = of(epsilon, statistic);
                assert!(
                    (digits..4.0 * digits).contains(&scales.epsilon),
                    "{epsilon:e} in {statistic}: {scales:?}"
                );
                assert_eq!(scales.epsilon / scales.near / scales.near, epsilon);
            }
        }
        for (epsilon, exponent) in [(1e-5, -42), (1e-6, -41), (1e-12, -31)] {
            assert_eq!(of(epsilon, F32).near, 2_f64.powi(exponent), "{epsilon:e}");
        }
    }

    /// Wherever squares overflow at the first scale, they neither overflow nor vanish at the second, up to the
    /// largest finite value.
    #[test]
    fn one_of_the_two_scales_takes_every_row() {
        for (statistic, largest, smallest, least) in [
            (
                F32,
                f64::from(f32::MAX),
                f64::from(f32::MIN_POSITIVE),
                1e-42,
            ),
            (F64, f64::MAX, f64::MIN_POSITIVE, 5e-324),
        ] {
            for epsilon in [1e30, 1.0, 1e-6, 1e-12, 1e-30, 1e-38, least] {
                let Scales { near, far, .. } = of(epsilon, statistic);
                for values in [1.0, 2_f64.powi(20), 2_f64.powi(29)] {
                    let most = largest * far;
                    assert!(most * most * values < largest, "{epsilon:e}: {far:e}");
                    // Of a row whose sum of squares is half the largest number.
                    let overflowing = (largest / 2.0 / values).sqrt() / near * far;
                    let least = overflowing * overflowing * 2_f64.powi(-24);
                    assert!(least >= smallest, "{epsilon:e}: {near:e} {far:e}");
                }
            }
        }
    }

    /// Of the sum of the two largest values.
    #[test]
    fn squares_of_f16_never_overflow() {
        let f16 = ElemType::Float(FloatKind::F16);
        for epsilon in [1e30, 1.0, 1e-6, 1e-12, 1e-73, 5e-324] {
            let near = of(epsilon, f16).near;
            let most = 2.0 * 65_504.0 * near;
            assert!(most * most * 2_f64.powi(32) < f64::from(f32::MAX));
        }
        assert_eq!(of(1e-6, f16).near, of(1e-6, F32).near);
    }

    #[test]
    fn scales_are_numbers_of_their_type() {
        for epsilon in [f64::MAX, 1e300, 1e-300, f64::MIN_POSITIVE, 5e-324] {
            let Scales { near, far, .. } = of(epsilon, F32);
            for scale in [near, far] {
                let scale = scale as f32;
                assert!(scale.is_normal(), "{epsilon:e}: {scale:e}");
            }
            let Scales { near, far, .. } = of(epsilon, F64);
            assert!(near.is_normal() && far.is_normal(), "{epsilon:e}");
        }
    }
}
