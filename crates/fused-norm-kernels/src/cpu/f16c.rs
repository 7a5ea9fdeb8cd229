//! f16 by the processor's own conversions, F16C, which every x86-64 with AVX2 has.
//!
//! bf16 has instructions too, AVX-512 BF16, but they take subnormal numbers for zero; and its
//! conversions are a shift and three additions. On other processors, and without `std` to ask, f16
//! goes through [`convert`](super::convert).

use half::f16;

use super::convert;

/// The values in f32; exact.
#[inline(always)]
pub(super) fn widen<const N: usize>(values: [f16; N]) -> [f32; N] {
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    if N.is_multiple_of(LANES) && is_there() {
        // SAFETY: `is_there` has just asked for AVX and F16C, which is what the function enables.
        return unsafe { widen_by_hardware(values) };
    }
    let mut wide = [0.0; N];
    for lane in 0..N {
        wide[lane] = convert::f16_to_f32(values[lane]);
    }
    wide
}

/// The nearest values of f16, ties to even.
#[inline(always)]
pub(super) fn narrow<const N: usize>(values: [f32; N]) -> [f16; N] {
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    if N.is_multiple_of(LANES) && is_there() {
        // SAFETY: `is_there` has just asked for AVX and F16C, which is what the function enables.
        return unsafe { narrow_by_hardware(values) };
    }
    let mut narrow = [f16::ZERO; N];
    for lane in 0..N {
        narrow[lane] = convert::f32_to_f16(values[lane]);
    }
    narrow
}

/// Values that an instruction converts.
#[cfg(all(feature = "std", target_arch = "x86_64"))]
const LANES: usize = 8;

#[cfg(all(feature = "std", target_arch = "x86_64"))]
#[inline(always)]
fn is_there() -> bool {
    // F16C alone does not say that the system keeps the wide registers, and both names are in `target_feature`.
    std::arch::is_x86_feature_detected!("avx") && std::arch::is_x86_feature_detected!("f16c")
}

#[cfg(all(feature = "std", target_arch = "x86_64"))]
#[inline]
#[target_feature(enable = "avx,f16c")]
fn widen_by_hardware<const N: usize>(values: [f16; N]) -> [f32; N] {
    use core::arch::x86_64::{_mm_loadu_si128, _mm256_cvtph_ps, _mm256_storeu_ps};

    let mut wide = [0.0; N];
    for (values, wide) in values.chunks_exact(LANES).zip(wide.chunks_exact_mut(LANES)) {
        // SAFETY: a chunk is eight numbers of 16 bits, and of 32 bits; neither needs to be aligned.
        unsafe {
            let lanes = _mm_loadu_si128(values.as_ptr().cast());
            _mm256_storeu_ps(wide.as_mut_ptr(), _mm256_cvtph_ps(lanes));
        }
    }
    wide
}

#[cfg(all(feature = "std", target_arch = "x86_64"))]
#[inline]
#[target_feature(enable = "avx,f16c")]
fn narrow_by_hardware<const N: usize>(values: [f32; N]) -> [f16; N] {
    use core::arch::x86_64::{
        _MM_FROUND_TO_NEAREST_INT, _mm_storeu_si128, _mm256_cvtps_ph, _mm256_loadu_ps,
    };

    let mut narrow = [f16::ZERO; N];
    for (values, narrow) in values
        .chunks_exact(LANES)
        .zip(narrow.chunks_exact_mut(LANES))
    {
        // SAFETY: a chunk is eight numbers of 32 bits, and of 16 bits; neither needs to be aligned.
        unsafe {
            let lanes = _mm256_loadu_ps(values.as_ptr());
            let lanes = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(lanes);
            _mm_storeu_si128(narrow.as_mut_ptr().cast(), lanes);
        }
    }
    narrow
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the processor lacks the instructions, both sides are the same code.
    #[test]
    fn hardware_gives_the_bits_of_the_portable_conversions() {
        for bits in (0..=u16::MAX).step_by(8) {
            let values: [f16; 8] = core::array::from_fn(|lane| f16::from_bits(bits + lane as u16));
            let wide = widen(values);
            for (value, wide) in values.into_iter().zip(wide) {
                assert_eq!(
                    wide.to_bits(),
                    convert::f16_to_f32(value).to_bits(),
                    "{value:?}"
                );
            }
        }
        // Ties, and their neighbours.
        for bits in 0..0x7c00_u16 {
            let (low, high) = (f16::from_bits(bits), f16::from_bits(bits + 1));
            let high = if high.is_infinite() {
                65_536.0
            } else {
                high.to_f32()
            };
            let tie = (low.to_f32() + high) / 2.0;
            let values = [-1.0, 1.0].map(|sign: f32| sign * tie);
            let around = |bits: u32| [bits - 1, bits, bits + 1].map(f32::from_bits);
            let [a, b, c] = around(values[1].to_bits());
            let [d, e, f] = around(values[0].to_bits());
            let values = [a, b, c, d, e, f, low.to_f32(), high];
            for (value, narrow) in values.into_iter().zip(narrow(values)) {
                let portable = convert::f32_to_f16(value);
                assert_eq!(narrow.to_bits(), portable.to_bits(), "{value:e}");
            }
        }
        // Every 1013th f32.
        for start in (0..=u32::MAX - 8 * 1013).step_by(8 * 1013) {
            let values: [f32; 8] =
                core::array::from_fn(|lane| f32::from_bits(start + 1013 * lane as u32));
            for (value, narrow) in values.into_iter().zip(narrow(values)) {
                let portable = convert::f32_to_f16(value);
                assert_eq!(narrow.to_bits(), portable.to_bits(), "{value:e}");
            }
        }
    }
}
