//! Which floating-point formats exist, and how a real number is rounded to each?
//!
//! Everything in this crate is held as `f64`; a *kind* says which of those values a format can hold.
//! Rounding goes straight from `f64` to the format. The `half` crate's `from_f64` is not used: its
//! software path drops the low 32 bits of the mantissa before a tie is decided, and hardware paths
//! for several values at once go through `f32`, rounding twice.

use std::fmt;

/// A floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FloatKind {
    /// IEEE binary64.
    F64,
    /// IEEE binary32.
    F32,
    /// IEEE binary16: 11 significant bits, largest finite value 65504.
    F16,
    /// bfloat16: 8 significant bits, the exponent range of binary32.
    BF16,
}

impl FloatKind {
    /// Every kind, widest first.
    pub const ALL: [FloatKind; 4] = [Self::F64, Self::F32, Self::F16, Self::BF16];

    /// Number of significant bits, the leading one included.
    pub fn significant_bits(self) -> i32 {
        match self {
            Self::F64 => 53,
            Self::F32 => 24,
            Self::F16 => 11,
            Self::BF16 => 8,
        }
    }

    /// Exponent of the smallest normal number.
    fn least_exponent(self) -> i32 {
        match self {
            Self::F64 => -1022,
            Self::F32 | Self::BF16 => -126,
            Self::F16 => -14,
        }
    }

    /// Largest finite value.
    pub fn max_finite(self) -> f64 {
        match self {
            Self::F64 => f64::MAX,
            Self::F32 => f64::from(f32::MAX),
            Self::F16 => 65504.0,
            Self::BF16 => 255.0 * power_of_two(120),
        }
    }

    /// Smallest positive normal value.
    pub fn min_normal(self) -> f64 {
        power_of_two(self.least_exponent())
    }

    /// Largest relative error of one rounding: `2^-significant_bits`.
    pub fn unit_roundoff(self) -> f64 {
        power_of_two(-self.significant_bits())
    }

    /// Distance between neighbouring values of this kind in the binade of `value`.
    ///
    /// Zero and subnormal values give the smallest subnormal; NaN and infinities give NaN.
    pub fn ulp(self, value: f64) -> f64 {
        if !value.is_finite() {
            return f64::NAN;
        }
        let exponent = exponent(value).max(self.least_exponent());
        power_of_two(exponent - (self.significant_bits() - 1))
    }

    /// The value of this kind nearest to `value`; ties go to the even neighbour.
    ///
    /// One rounding, subnormals included; results beyond the largest finite value become infinite.
    pub fn round(self, value: f64) -> f64 {
        match self {
            Self::F64 => value,
            Self::F32 => f64::from(value as f32),
            Self::F16 | Self::BF16 => {
                if !value.is_finite() || value == 0.0 {
                    return value;
                }
                // Dividing and multiplying by a power of two is exact here.
                let quantum = self.ulp(value);
                let rounded = (value / quantum).round_ties_even() * quantum;
                if rounded.abs() > self.max_finite() {
                    f64::INFINITY.copysign(value)
                } else {
                    rounded
                }
            }
        }
    }

    /// The kind in which statistics and sums of rows of this kind are computed.
    pub fn statistic(self) -> FloatKind {
        match self {
            Self::F64 => Self::F64,
            _ => Self::F32,
        }
    }

    /// Is this a 16-bit kind?
    pub fn is_half(self) -> bool {
        matches!(self, Self::F16 | Self::BF16)
    }

    /// Short lower-case name.
    pub fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
        }
    }
}

impl fmt::Display for FloatKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// `floor(log2(|value|))`; zero and subnormal `f64` values give -1023.
fn exponent(value: f64) -> i32 {
    ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023
}

/// `2^exponent`, subnormal results included.
fn power_of_two(exponent: i32) -> f64 {
    if exponent >= -1022 {
        f64::from_bits(((exponent + 1023) as u64) << 52)
    } else {
        f64::from_bits(1 << (exponent + 1074))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    /// All finite values of a 16-bit kind, in increasing order of magnitude.
    fn positive_values(kind: FloatKind) -> Vec<f64> {
        (0..0x7fff_u16)
            .map(|bits| match kind {
                FloatKind::F16 => f16::from_bits(bits).to_f64(),
                _ => bf16::from_bits(bits).to_f64(),
            })
            .take_while(|value| value.is_finite())
            .collect()
    }

    #[test]
    fn every_value_of_a_half_kind_rounds_to_itself() {
        for kind in [FloatKind::F16, FloatKind::BF16] {
            for value in positive_values(kind) {
                assert_eq!(kind.round(value), value);
                assert_eq!(kind.round(-value), -value);
            }
        }
    }

    #[test]
    fn ties_go_to_even_and_the_smallest_excess_decides() {
        for kind in [FloatKind::F16, FloatKind::BF16] {
            let values = positive_values(kind);
            for (index, pair) in values.windows(2).enumerate() {
                let tie = (pair[0] + pair[1]) / 2.0;
                let even = if index % 2 == 0 { pair[0] } else { pair[1] };
                assert_eq!(kind.round(tie), even, "{kind} tie {tie}");
                // One f64 step beyond the tie is far below what f32 can hold.
                assert_eq!(kind.round(tie.next_down()), pair[0]);
                assert_eq!(kind.round(tie.next_up()), pair[1]);
            }
        }
    }

    #[test]
    fn agrees_with_half_on_values_of_f32() {
        let mut bits = 0_u32;
        while bits < 0x7f80_0000 {
            let value = f32::from_bits(bits);
            let wide = f64::from(value);
            assert_eq!(FloatKind::F16.round(wide), f16::from_f32(value).to_f64());
            assert_eq!(FloatKind::BF16.round(wide), bf16::from_f32(value).to_f64());
            bits += 0x1357;
        }
    }

    #[test]
    fn overflow_starts_half_a_step_beyond_the_largest_value() {
        assert_eq!(FloatKind::F16.round(65519.99), 65504.0);
        assert_eq!(FloatKind::F16.round(65520.0), f64::INFINITY);
        assert_eq!(FloatKind::F16.round(-7e4), f64::NEG_INFINITY);
        assert_eq!(FloatKind::BF16.round(3.5e38), f64::INFINITY);
        assert_eq!(FloatKind::F32.round(1e39), f64::INFINITY);
        assert!(FloatKind::F16.round(f64::NAN).is_nan());
        let max = f64::from(bf16::MAX);
        assert_eq!(FloatKind::BF16.max_finite(), max);
    }

    #[test]
    fn ulp_is_the_distance_to_the_next_value() {
        assert_eq!(FloatKind::F16.ulp(0.0), power_of_two(-24));
        assert_eq!(FloatKind::F16.ulp(1.0), power_of_two(-10));
        assert_eq!(FloatKind::BF16.ulp(-1.5), power_of_two(-7));
        assert_eq!(FloatKind::F32.ulp(1.0), f64::from(f32::EPSILON));
        assert_eq!(FloatKind::F64.ulp(1.0), f64::EPSILON);
        assert_eq!(FloatKind::F64.ulp(0.0), f64::from_bits(1));
        assert!(FloatKind::F32.ulp(f64::INFINITY).is_nan());
    }
}
