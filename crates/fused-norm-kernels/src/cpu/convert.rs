//! Conversions of f16 and bf16 without branches or table look-ups, so that a loop over them becomes
//! SIMD on every instruction set. The tests hold each to the crate `half`, bit for bit.

use half::{bf16, f16};

const F32_INFINITY: u32 = 0x7f80_0000;
const F32_ABS: u32 = 0x7fff_ffff;

/// bf16 is the upper half of an f32.
#[inline(always)]
pub(super) fn bf16_to_f32(value: bf16) -> f32 {
    f32::from_bits(u32::from(value.to_bits()) << 16)
}

/// Adding just under half a unit of the last place kept (a full half if that place is odd) carries
/// into it exactly when the value rounds up. NaN stays NaN: made quiet, payload cut.
#[inline(always)]
pub(super) fn f32_to_bf16(value: f32) -> bf16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    let quiet = (bits >> 16) | 0x0040;
    let is_nan = bits & F32_ABS > F32_INFINITY;
    bf16::from_bits(if is_nan { quiet } else { rounded } as u16)
}

/// The exponent and fraction moved to their places in f32 are the value times 2^-112, subnormals
/// included; multiplying makes it right. Infinity and NaN get f32's exponent instead.
#[inline(always)]
pub(super) fn f16_to_f32(value: f16) -> f32 {
    const TWO_POW_112: f32 = f32::from_bits((127 + 112) << 23);
    let bits = u32::from(value.to_bits());
    let sign = (bits & 0x8000) << 16;
    let magnitude = (bits & 0x7fff) << 13;
    let finite = (f32::from_bits(magnitude) * TWO_POW_112).to_bits();
    let special = magnitude | F32_INFINITY;
    // A signalling NaN becomes quiet, as the hardware's conversion makes it.
    let special = if bits & 0x03ff != 0 {
        special | 0x0040_0000
    } else {
        special
    };
    let is_special = bits & 0x7c00 == 0x7c00;
    f32::from_bits(sign | if is_special { special } else { finite })
}

/// Normal results round as in [`f32_to_bf16`], after the exponent is rebased. Subnormal ones are
/// rounded by the adder: 0.5 has its last place where f16's smallest subnormal has its only one.
#[inline(always)]
pub(super) fn f32_to_f16(value: f32) -> f16 {
    const OVERFLOW: u32 = (127 + 16) << 23;
    const SMALLEST_NORMAL: u32 = (127 - 14) << 23;
    const REBASE: u32 = (127 - 15) << 23;
    let bits = value.to_bits();
    let sign = (bits >> 16) & 0x8000;
    let magnitude = bits & F32_ABS;

    let odd = (magnitude >> 13) & 1;
    let normal = magnitude.wrapping_sub(REBASE).wrapping_add(0x0fff + odd) >> 13;
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits() & 0x007f_ffff;
    let nan = ((magnitude >> 13) & 0x03ff) | 0x7e00;

    let finite = if magnitude < SMALLEST_NORMAL {
        subnormal
    } else {
        normal
    };
    let limited = if magnitude >= OVERFLOW {
        0x7c00
    } else {
        finite
    };
    let result = if magnitude > F32_INFINITY {
        nan
    } else {
        limited
    };
    f16::from_bits((sign | result) as u16)
}

/// Rounds to odd: towards zero, then the last place is set unless the value was exact. A second
/// rounding, to a type with at least two digits less, then gives what one rounding would have.
#[inline(always)]
pub(super) fn f64_to_f32_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let wide = f64::from(nearest);
    if wide == value || !nearest.is_finite() {
        return nearest;
    }
    let away = wide.abs() > value.abs();
    f32::from_bits((nearest.to_bits() - u32::from(away)) | 1)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Every sign and exponent with fractions around each place where rounding can turn.
    fn f32_samples() -> impl Iterator<Item = f32> {
        let fractions = (0..=23_u32).flat_map(|place| {
            (0..=23_u32).flat_map(move |other| {
                let pair = ((1_u32 << place) | (1 << other)) & 0x007f_ffff;
                [
                    pair.wrapping_sub(1) & 0x007f_ffff,
                    pair,
                    (pair + 1) & 0x007f_ffff,
                ]
            })
        });
        let fractions: Vec<u32> = fractions.collect();
        (0..512_u32).flat_map(move |exponent| {
            fractions
                .clone()
                .into_iter()
                .map(move |fraction| f32::from_bits((exponent << 23) | fraction))
        })
    }

    #[test]
    fn every_half_widens_exactly() {
        for bits in 0..=u16::MAX {
            let (ours, halfs) = (
                f16_to_f32(f16::from_bits(bits)),
                f16::from_bits(bits).to_f32(),
            );
            assert_eq!(ours.to_bits(), halfs.to_bits(), "f16 {bits:#06x}");
            let (ours, halfs) = (
                bf16_to_f32(bf16::from_bits(bits)),
                bf16::from_bits(bits).to_f32(),
            );
            assert!(
                ours.to_bits() == halfs.to_bits() || (ours.is_nan() && halfs.is_nan()),
                "bf16 {bits:#06x}"
            );
        }
    }

    #[test]
    fn rounding_is_to_nearest_even() {
        for value in f32_samples() {
            let (ours, halfs) = (f32_to_bf16(value), bf16::from_f32(value));
            assert_eq!(
                ours.to_bits(),
                halfs.to_bits(),
                "bf16 of {:#010x}",
                value.to_bits()
            );
            let (ours, halfs) = (f32_to_f16(value), f16::from_f32(value));
            assert!(
                ours.to_bits() == halfs.to_bits() || (ours.is_nan() && halfs.is_nan()),
                "f16 of {:#010x}: {:#06x}, expected {:#06x}",
                value.to_bits(),
                ours.to_bits(),
                halfs.to_bits()
            );
        }
    }

    #[test]
    fn f64_rounds_once() {
        // One f64 step above and below, and at, the middle of every two neighbouring halves.
        for bits in 0..0x7c00_u16 {
            let (low, high) = (f16::from_bits(bits), f16::from_bits(bits + 1));
            let next = if high.is_finite() {
                high.to_f64()
            } else {
                65536.0
            };
            let middle = (low.to_f64() + next) / 2.0;
            let even = if bits & 1 == 0 { low } else { high };
            for (value, expected) in [
                (middle.next_down(), low),
                (middle, even),
                (middle.next_up(), high),
            ] {
                let ours = f32_to_f16(f64_to_f32_odd(value));
                assert_eq!(ours.to_bits(), expected.to_bits(), "{value:e}");
                let negative = f32_to_f16(f64_to_f32_odd(-value));
                assert_eq!(
                    negative.to_bits(),
                    expected.to_bits() | 0x8000,
                    "-{value:e}"
                );
            }
        }
        assert!(f64_to_f32_odd(f64::NAN).is_nan());
        assert_eq!(f64_to_f32_odd(f64::NEG_INFINITY), f32::NEG_INFINITY);
    }

    #[test]
    fn nan_stays_nan() {
        for bits in [
            0x7f80_0001,
            0x7fc0_0000,
            0xff80_0001,
            0xffff_ffff,
            0x7f80_ffff,
        ] {
            assert!(
                f32_to_f16(f32::from_bits(bits)).is_nan(),
                "f16 of {bits:#010x}"
            );
            assert!(
                f32_to_bf16(f32::from_bits(bits)).is_nan(),
                "bf16 of {bits:#010x}"
            );
        }
    }
}
