//! Vectors of a row: which exist, and which of their elements the statistic reads.

use cubecl::prelude::*;

use crate::cube::{Blueprint, Reach};

/// Vector `column` of the row that starts at vector `start`; zeros beyond its end.
#[cube]
pub(super) fn load<T: Float, N: Size>(
    rows: &[Vector<T, N>],
    start: usize,
    column: usize,
    row_vectors: usize,
    #[comptime] exact: bool,
) -> Vector<T, N> {
    let mut vector = Vector::<T, N>::new(T::from_int(0));
    if comptime!(exact) {
        vector = rows[start + column];
    } else if column < row_vectors {
        vector = rows[start + column];
    }
    vector
}

/// 0, which a compiler cannot know: `inverse_count` is positive. A load at a distance of it from
/// where it was is not merged with the earlier one, and one at a multiple of a row's number is not
/// moved out of the loop over rows. Both would keep in registers what the cache keeps as well.
#[cube]
pub(super) fn hidden_zero<S: Float>(inverse_count: S) -> usize {
    select(inverse_count < S::from_int(0), 1usize, 0usize)
}

/// `hidden_zero`, not before `vector` is there: what is loaded at a distance of it waits.
#[cube]
pub(super) fn hidden_zero_after<S: Float, N: Size>(
    vector: Vector<S, N>,
    hidden_zero: usize,
) -> usize {
    select(vector.extract(0usize) > S::from_int(0), hidden_zero, 0usize)
}

/// Whether the statistic reads all of vector `column`.
#[cube]
pub(super) fn is_read<N: Size>(column: usize, stat_len: usize, #[comptime] reach: Reach) -> bool {
    if comptime!(reach == Reach::Row) {
        true.runtime()
    } else {
        column < stat_len / N::value()
    }
}

/// How many of its vectors a lane reads whole for the statistic: the first ones. One number to compare with,
/// instead of a column a vector.
#[cube]
pub(super) fn steps_read<N: Size>(
    stat_len: usize,
    #[comptime] blueprint: Blueprint,
    #[comptime] reach: Reach,
) -> u32 {
    if comptime!(reach == Reach::Row) {
        blueprint.vectors.runtime()
    } else {
        let whole = (stat_len / N::value()) as u32;
        let lanes = comptime!(blueprint.lanes);
        (whole + lanes - 1 - UNIT_POS % lanes) / lanes
    }
}

/// The vector of which the statistic reads only the first elements, if this lane owns it; a column
/// beyond the row elsewhere. For [`Reach::Elements`].
#[cube]
pub(super) fn straddling<N: Size>(
    stat_len: usize,
    row_vectors: usize,
    #[comptime] lanes: u32,
) -> usize {
    let last = stat_len / N::value();
    let owner = last % comptime!(lanes as usize);
    select(owner == (UNIT_POS % lanes) as usize, last, row_vectors)
}

/// `vector`, with zeros where its elements lie at or beyond `stat_len`.
#[cube]
pub(super) fn keep_read<S: Float, N: Size>(
    vector: Vector<S, N>,
    column: usize,
    stat_len: usize,
) -> Vector<S, N> {
    let mut kept = vector;
    let size = N::value();
    let start = column * size;
    #[unroll]
    for element in 0..size {
        let value = kept.extract(element);
        kept.insert(
            element,
            select(start + element < stat_len, value, S::from_int(0)),
        );
    }
    kept
}

/// The sum of a vector's elements, in a tree: one after the other, as the CPU's own instruction for it is
/// compiled, the 16 additions of a short row take longer than all else that is done for it.
#[cube]
pub(super) fn sum_of<S: Float, N: Size>(vector: Vector<S, N>) -> S {
    let size = N::value();
    let mut sums = Array::<S>::new(comptime!(size));
    #[unroll]
    for element in 0..size {
        sums[element] = vector.extract(element);
    }
    #[unroll]
    for step in 0..comptime!(size.ilog2()) {
        let width = comptime!(size >> (step + 1));
        #[unroll]
        for element in 0..width {
            let other = sums[element + width];
            sums[element] += other;
        }
    }
    sums[0]
}

/// The vector that lane `UNIT_POS % lanes` reads in step `step`: neighbours read neighbours.
#[cube]
pub(super) fn column(step: u32, #[comptime] blueprint: Blueprint) -> usize {
    (step * blueprint.lanes + UNIT_POS % blueprint.lanes) as usize
}
