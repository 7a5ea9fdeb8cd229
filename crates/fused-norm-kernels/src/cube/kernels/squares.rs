//! The squares of a row, summed, and rstd from them, whatever the size of the values.
//!
//! Values are multiplied by a power of two, `scale`, before they are squared, so that the square of one is
//! either a number that the type has or nothing beside epsilon. Where the sum overflows all the same, the sum
//! of squares at a second power of two counts, `far_scale`, beside which epsilon is nothing.

use cubecl::prelude::*;

use super::operand::combined_at;
use super::vectors::{keep_read, straddling, sum_of};
use crate::cube::{Form, Reach};

/// The sum at `scale`.
pub(super) const NEAR: usize = 0;
/// The sum at `far_scale`.
pub(super) const FAR: usize = 1;
pub(super) const SCALES: usize = 2;

/// Independent sums a lane: enough for the additions of one to hide behind the others'.
const SUMS: usize = 4;
/// Rounds of `SUMS` vectors whose sums are added up apart, so that no sum has many terms.
const ROUNDS_A_SPAN: usize = 16;

/// The square of each element times `scale`.
#[cube]
pub(super) fn square<S: Float, N: Size>(vector: Vector<S, N>, scale: S) -> Vector<S, N> {
    let scaled = vector * Vector::new(scale);
    scaled * scaled
}

/// Whether a sum at `scale` is none. A comparison with infinity would be left out by a compiler that takes
/// every number for finite; here and in `rstd_of` it is one with a smaller number.
#[cube]
pub(super) fn overflows<S: Float>(near: S) -> bool {
    near > S::max_value() * S::new(0.5)
}

/// `1 / sqrt(mean of squares + epsilon)` from the sum at `scale`, with whose square `epsilon` has been
/// multiplied. The mean is a product, as an exact division costs a GPU a subroutine, and registers around
/// the call. An epsilon below the type's range may ask for an rstd that the type cannot hold, and infinity
/// times zero is no 0: rstd is at most a quarter of the largest number.
#[cube]
pub(super) fn rstd_of<S: Float>(near: S, inverse_count: S, epsilon: S, scale: S) -> S {
    let rstd = scale / (near * inverse_count + epsilon).sqrt();
    let most = S::max_value() * S::new(0.25);
    select(rstd > most, most, rstd)
}

/// The same from the sum at `far_scale`.
#[cube]
pub(super) fn rstd_of_far<S: Float>(far: S, inverse_count: S, far_scale: S) -> S {
    far_scale / (far * inverse_count).sqrt()
}

/// The sums of the squares that one lane reads, of vectors `lane`, `lane + lanes`, and so on: at `scale`, and,
/// if `both`, at `far_scale`.
#[cube]
pub(super) fn sum_squares<T: Float, N: Size, S: Float>(
    x: &[Vector<T, N>],
    operand: ComptimeOption<&[Vector<T, N>]>,
    source: usize,
    operand_source: usize,
    lane: usize,
    row_vectors: usize,
    stat_len: usize,
    scale: S,
    far_scale: S,
    totals: &mut Array<S>,
    #[comptime] lanes: usize,
    #[comptime] both: bool,
    #[comptime] form: Form,
    #[comptime] reach: Reach,
) {
    let zero = Vector::<S, N>::new(S::from_int(0));
    totals[NEAR] = S::from_int(0);
    totals[FAR] = S::from_int(0);
    // Vectors beyond the statistic's are not read at all.
    let mut end = row_vectors;
    if comptime!(reach != Reach::Row) {
        end = stat_len / N::value();
    }
    if comptime!(reach == Reach::Elements) {
        let last = straddling::<N>(stat_len, row_vectors, comptime!(lanes as u32));
        if last < row_vectors {
            let value =
                combined_at::<T, N, S>(x, operand, source, operand_source, last, row_vectors, form);
            let value = keep_read::<S, N>(value, last, stat_len);
            totals[NEAR] = sum_of::<S, N>(square::<S, N>(value, scale));
            if comptime!(both) {
                totals[FAR] = sum_of::<S, N>(square::<S, N>(value, far_scale));
            }
        }
    }
    let mut column = lane;
    while column < end {
        let mut sums = Array::<Vector<S, N>>::new(SUMS);
        #[unroll]
        for sum in 0..SUMS {
            sums[sum] = zero;
        }
        let mut far = S::from_int(0);
        let span_end = min(column + comptime!(lanes * SUMS * ROUNDS_A_SPAN), end);
        while column + comptime!(lanes * (SUMS - 1)) < span_end {
            #[unroll]
            for sum in 0..SUMS {
                let here = column + comptime!(sum * lanes);
                let value = combined_at::<T, N, S>(
                    x,
                    operand,
                    source,
                    operand_source,
                    here,
                    row_vectors,
                    form,
                );
                sums[sum] += square::<S, N>(value, scale);
                if comptime!(both) {
                    far += sum_of::<S, N>(square::<S, N>(value, far_scale));
                }
            }
            column += comptime!(lanes * SUMS);
        }
        while column < span_end {
            let value = combined_at::<T, N, S>(
                x,
                operand,
                source,
                operand_source,
                column,
                row_vectors,
                form,
            );
            sums[0] += square::<S, N>(value, scale);
            if comptime!(both) {
                far += sum_of::<S, N>(square::<S, N>(value, far_scale));
            }
            column += lanes;
        }
        totals[NEAR] += sum_of::<S, N>((sums[0] + sums[1]) + (sums[2] + sums[3]));
        totals[FAR] += far;
    }
}

/// The sum at `far_scale` of the squares of a row, for a lane that has one of its own and has found that the
/// sum at `scale` overflows. Hardly any row is read so: short code rather than fast.
#[cube]
pub(super) fn sum_far_squares<T: Float, N: Size, S: Float>(
    x: &[Vector<T, N>],
    operand: ComptimeOption<&[Vector<T, N>]>,
    source: usize,
    operand_source: usize,
    row_vectors: usize,
    stat_len: usize,
    far_scale: S,
    #[comptime] form: Form,
    #[comptime] reach: Reach,
) -> S {
    let mut end = row_vectors;
    if comptime!(reach == Reach::Vectors) {
        end = stat_len / N::value();
    } else if comptime!(reach == Reach::Elements) {
        end = stat_len.div_ceil(N::value());
    }
    let mut total = S::from_int(0);
    let mut column = 0usize;
    while column < end {
        let mut squares = Vector::<S, N>::new(S::from_int(0));
        let span_end = min(column + comptime!(SUMS * ROUNDS_A_SPAN), end);
        while column < span_end {
            let mut value = combined_at::<T, N, S>(
                x,
                operand,
                source,
                operand_source,
                column,
                row_vectors,
                form,
            );
            if comptime!(reach == Reach::Elements) {
                value = keep_read::<S, N>(value, column, stat_len);
            }
            squares += square::<S, N>(value, far_scale);
            column += 1;
        }
        total += sum_of::<S, N>(squares);
    }
    total
}
