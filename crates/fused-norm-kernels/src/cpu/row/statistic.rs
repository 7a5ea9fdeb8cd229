//! The statistic of a row, and sums along it.

use core::hint::black_box;

use super::block::{BLOCK, for_each_block};
use super::values::Values;
use crate::cpu::{Element, Statistic};

/// Blocks whose lanes are summed in the statistic's type before they go into an f64: each lane adds
/// this many terms, so its error stays within a few units of the last place however long the row.
pub(super) const BLOCKS_A_SPAN: usize = 32;

/// `1 / sqrt(mean of squares + epsilon)` of the first `stat_len` features of a row, rounded once.
#[inline(always)]
pub(in crate::cpu) fn rstd<T: Element>(
    row: impl Values<T>,
    stat_len: usize,
    epsilon: f64,
) -> T::Statistic {
    rstd_of(sum_of_squares(row, stat_len), row.first(stat_len), epsilon)
}

/// The sum of the squares of the first `stat_len` features of a row.
#[inline(always)]
pub(super) fn sum_of_squares<T: Element>(row: impl Values<T>, stat_len: usize) -> f64 {
    let features = row.first(stat_len);
    // Two loops: with both loads in one, LLVM 21 keeps its sums in memory (`[64, 1024]` forward took
    // 1.5 × as long).
    if stat_len.is_multiple_of(BLOCK) || stat_len == row.len() {
        sum_squared_blocks::<T::Statistic>(
            stat_len,
            #[inline(always)]
            |start, width| {
                row.prefetch(start);
                features.block(start, width)
            },
        )
    } else {
        sum_squared_blocks::<T::Statistic>(
            stat_len,
            #[inline(always)]
            |start, width| {
                row.prefetch(start);
                block_of_more(row, start, width)
            },
        )
    }
}

/// The rstd of features with this sum of squares.
#[inline(always)]
pub(super) fn rstd_of<T: Element>(
    sum: f64,
    features: impl Values<T>,
    epsilon: f64,
) -> T::Statistic {
    let mean = sum / features.len() as f64;
    if is_in_range::<T::Statistic>(mean, epsilon) {
        rounded(1.0 / sqrt(mean + epsilon))
    } else {
        rounded(scaled_rstd(features, epsilon))
    }
}

/// Whether nothing that the mean square needs was lost in the squares.
#[inline(always)]
pub(super) fn is_in_range<S: Statistic>(mean: f64, epsilon: f64) -> bool {
    let inside = mean + epsilon;
    inside.is_finite() && inside >= S::SMALL_MEAN_SQUARE
}

/// An rstd in the type of computation.
// An epsilon below f32's range may ask for more than f32 can hold: infinity times zero is no 0.
#[inline(always)]
pub(super) fn rounded<S: Statistic>(rstd: f64) -> S {
    S::from_f64(if rstd > S::LARGEST { S::LARGEST } else { rstd })
}

/// A block of a row that may go on behind the `width` values: they are read with the others, and
/// left out afterwards, which is faster than to read fewer.
#[inline(always)]
fn block_of_more<T: Element>(
    row: impl Values<T>,
    start: usize,
    width: usize,
) -> [T::Statistic; BLOCK] {
    if width == BLOCK || row.len() - start < BLOCK {
        return row.block(start, width);
    }
    let mut block = row.block(start, BLOCK);
    for (lane, value) in block.iter_mut().enumerate() {
        *value = if lane < width {
            *value
        } else {
            T::Statistic::default()
        };
    }
    block
}

#[inline(always)]
fn sum_squared_blocks<S: Statistic>(
    stat_len: usize,
    load: impl Fn(usize, usize) -> [S; BLOCK],
) -> f64 {
    sum_blocks(
        stat_len,
        #[inline(always)]
        |start, width| {
            let mut squares = load(start, width);
            for square in &mut squares {
                *square = *square * *square;
            }
            squares
        },
    )
}

/// The same for a row whose squares overflow or vanish: its largest element is scaled to about 1.
#[cold]
#[inline(never)]
pub(super) fn scaled_rstd<T: Element>(features: impl Values<T>, epsilon: f64) -> f64 {
    const INFINITE: u64 = 0x7ff;
    let mut largest = 0.0_f64;
    for_each_block(0..features.len(), |start, width| {
        for x in features.block(start, width) {
            largest = largest.max(x.to_f64().abs());
        }
    });
    let exponent = largest.to_bits() >> 52;
    // All zero or subnormal in f64, or an infinity: nothing to scale.
    let scale = if exponent == 0 || exponent == INFINITE {
        1.0
    } else {
        // The reciprocal of the power of two above `largest`, but no subnormal.
        f64::from_bits(2045_u64.saturating_sub(exponent).max(1) << 52)
    };
    let sum = sum_blocks::<f64>(features.len(), |start, width| {
        let block = features.block(start, width);
        let mut squares = [0.0; BLOCK];
        for (square, x) in squares.iter_mut().zip(block) {
            let scaled = x.to_f64() * scale;
            *square = scaled * scaled;
        }
        squares
    });
    let root = sqrt(sum / features.len() as f64 + epsilon * scale * scale);
    if root.is_infinite() && largest.is_finite() {
        // Epsilon is larger than any square by more than f64 can hold.
        return 1.0 / sqrt(epsilon);
    }
    scale / root
}

/// Sums what `terms(start, width)` gives for each block of a row of `len` elements, in an order that
/// depends on `len` alone.
#[inline(always)]
pub(super) fn sum_blocks<S: Statistic>(
    len: usize,
    mut terms: impl FnMut(usize, usize) -> [S; BLOCK],
) -> f64 {
    let mut sum = 0.0;
    let mut span = 0;
    while span < len {
        let end = len.min(span + BLOCKS_A_SPAN * BLOCK);
        let mut lanes = [S::default(); BLOCK];
        for_each_block(
            span..end,
            #[inline(always)]
            |start, width| {
                let terms = terms(start, width);
                for lane in 0..BLOCK {
                    lanes[lane] += terms[lane];
                }
            },
        );
        sum += sum_lanes(&lanes);
        span = end;
    }
    sum
}

/// The sum of a block's lanes, in f64: the sum of lanes that f32 can hold may be one that it cannot.
#[inline(always)]
pub(super) fn sum_lanes<S: Statistic>(lanes: &[S; BLOCK]) -> f64 {
    // Each step is kept from being seen together with the one before. LLVM 21 starts from the last
    // additions and makes the registers of all before as narrow as theirs: of 64 bits in the loop that
    // fills the lanes (x86-64: a forward row of 1024 took 2.3 × as long), or of 256 where it might
    // have 512.
    let lanes = black_box(lanes);
    let mut half = [0.0; BLOCK / 2];
    for lane in 0..BLOCK / 2 {
        half[lane] = lanes[lane].to_f64() + lanes[lane + BLOCK / 2].to_f64();
    }
    let mut quarter = [0.0; BLOCK / 4];
    for lane in 0..BLOCK / 4 {
        quarter[lane] = half[lane] + half[lane + BLOCK / 4];
    }
    let [a, b, c, d, e, f, g, h] = *black_box(&quarter);
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

#[inline(always)]
pub(super) fn sqrt(value: f64) -> f64 {
    #[cfg(feature = "std")]
    return value.sqrt();
    #[cfg(not(feature = "std"))]
    return libm::sqrt(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole<T: Element>(row: &[T], epsilon: f64) -> T::Statistic {
        rstd(row, row.len(), epsilon)
    }

    fn exact(features: &[f64], epsilon: f64) -> f64 {
        let sum: f64 = features.iter().map(|x| x * x).sum();
        1.0 / (sum / features.len() as f64 + epsilon).sqrt()
    }

    #[test]
    fn rows_whose_squares_overflow_or_vanish_are_scaled() {
        for magnitude in [
            1e-30_f32, 1e-25, 1e-20, 1e-10, 1.0, 1e10, 1e19, 1e25, 1e30, 1e37,
        ] {
            let row = [magnitude, -2.0 * magnitude, 3.0 * magnitude];
            let wide = row.map(f64::from);
            let rstd = f64::from(whole(&row, 1e-70));
            let error = (rstd / exact(&wide, 1e-70) - 1.0).abs();
            assert!(error < 1e-7, "{magnitude}: off by {error}");
        }
        for exponent in [-300, -200, -160, 160, 200, 300, 307] {
            let magnitude = 10_f64.powi(exponent);
            let row = [magnitude, -2.0 * magnitude, 3.0 * magnitude];
            let error =
                (whole(&row, f64::MIN_POSITIVE) * magnitude * (14.0_f64 / 3.0).sqrt() - 1.0).abs();
            let vanishes = exponent < -153; // epsilon, 2e-308, is not below these squares
            assert!(vanishes || error < 1e-15, "1e{exponent}: off by {error}");
        }
    }

    #[test]
    fn a_scaled_row_is_as_exact_as_another_however_long() {
        for magnitude in [1.0, 1e200, 1e-140, 1e307, 5e307, 1e308, 1.7e308, f64::MAX] {
            for row_len in [1, 2, 1024, 65_536] {
                let row = alloc::vec![magnitude; row_len];
                let y = magnitude * whole(&row, 1e-300);
                assert!((y - 1.0).abs() < 2e-15, "{row_len} of {magnitude:e}: {y}");
            }
        }
    }

    #[test]
    fn an_epsilon_that_f32_cannot_hold_leaves_zero_at_zero() {
        for epsilon in [1e-77, 1e-80, 1e-300, f64::MIN_POSITIVE] {
            assert_eq!(0.0 * whole(&[0.0_f32; 4], epsilon), 0.0, "{epsilon:e}");
            let y = 1e-39_f32 * whole(&[1e-39_f32; 4], epsilon);
            assert!(y > 0.0 && y <= 1.0 + 1e-6, "{epsilon:e}: {y}");
        }
    }

    #[test]
    fn a_sum_of_lanes_may_be_more_than_f32_can_hold() {
        assert_eq!(
            sum_lanes(&[3e38_f32; BLOCK]),
            f64::from(3e38_f32) * BLOCK as f64
        );
    }

    #[test]
    fn epsilon_alone_decides_for_a_row_of_zeros() {
        for epsilon in [1.0_f64, 1e-5, 1e-12, 1e-40, 1e-70] {
            let expected = (1.0 / epsilon.sqrt()) as f32;
            assert_eq!(whole(&[0.0_f32; 5], epsilon), expected, "{epsilon}");
        }
    }

    #[test]
    fn epsilon_counts_in_a_scaled_row_too() {
        let row = [1e-20_f32, -2e-20, 3e-20];
        for epsilon in [1e-42, 1e-40, 1e-38] {
            let error = f64::from(whole(&row, epsilon)) / exact(&row.map(f64::from), epsilon) - 1.0;
            assert!(error.abs() < 1e-7, "{epsilon:e}: off by {error:e}");
        }
    }

    #[test]
    fn epsilon_may_take_a_mean_square_beyond_what_f64_can_hold() {
        let (x, epsilon) = (1.2e154_f64, 1e308);
        let (scaled, scale) = (x / 1024.0, 1024.0);
        let expected = 1.0 / (scaled * scaled + epsilon / scale / scale).sqrt() / scale;
        let error = whole(&[x], epsilon) / expected - 1.0;
        assert!(error.abs() < 1e-15, "off by {error:e}");
    }

    #[test]
    fn what_is_not_finite_shows() {
        assert!(whole(&[1.0, f32::NAN, 2.0], 1e-5).is_nan());
        assert_eq!(whole(&[1.0, f32::INFINITY, 2.0], 1e-5), 0.0);
        assert!(whole(&[f32::INFINITY, f32::NAN], 1e-5).is_nan());
    }
}
