//! The statistics and sums of rows that lie side by side: a lane for each row, line by line.

use super::block::{BLOCK, Parameter, for_each_block};
use super::lines::{EachRow, Kept, Line, Strided};
use super::statistic::{BLOCKS_A_SPAN, rstd_of, sum_lanes};
use super::transform::Stored;
use super::values::Values;
use crate::cpu::{Element, Statistic};

/// `1 / sqrt(mean of squares + epsilon)` of the first `stat_len` features of each of a tile's rows,
/// rounded once. Keeps the lines that it reads.
#[inline(always)]
pub(in crate::cpu) fn rstd_of_each<'a, T: Element>(
    line: impl Fn(usize) -> Line<'a, T>,
    kept: &mut Kept<T>,
    stat_len: usize,
    epsilon: f64,
) -> EachRow<T::Statistic> {
    let sums = sum_lines::<T::Statistic>(
        stat_len,
        #[inline(always)]
        |j, sums| {
            let line = line(j);
            let kept = kept.keep(j);
            for_each_block(
                0..line.width,
                #[inline(always)]
                |start, width| {
                    line.prefetch(start);
                    let x = line.load(start, width);
                    kept[start / BLOCK] = x;
                    let x = T::widen_all(x);
                    let sums = sums.block_mut(start);
                    for lane in 0..BLOCK {
                        sums[lane] += x[lane] * x[lane];
                    }
                },
            );
        },
    );
    let first = line(0);
    EachRow::from_fn(
        first.width,
        #[inline(always)]
        |row| {
            let features = Strided {
                data: &first.data[row..],
                len: stat_len,
                step: first.step,
            };
            rstd_of(sums.get(row), features, epsilon)
        },
    )
}

/// For each of a tile's rows, `Σ_j dy_j·gamma_j·x̂_j` over all columns, with `x̂ = x·rstd`. Adds to
/// each dgamma_j what the rows have of `dy_j·x̂_j`, and to each dbeta_j what they have of dy_j, where
/// these are wanted. Keeps the lines of dy and x.
#[inline(always)]
pub(in crate::cpu) fn correlate_each<'a, T: Element>(
    dy: impl Fn(usize) -> Line<'a, T>,
    x: impl Fn(usize) -> Line<'a, T>,
    [kept_dy, kept_x]: &mut [Kept<T>; 2],
    rstd: &EachRow<T::Statistic>,
    row_len: usize,
    gamma: impl Fn(usize) -> T::Statistic,
    [mut dgamma, mut dbeta]: [Option<&mut [T::Statistic]>; 2],
) -> EachRow<f64> {
    sum_lines::<T::Statistic>(
        row_len,
        #[inline(always)]
        |j, sums| {
            let (dy, x, gamma) = (dy(j), x(j), gamma(j));
            let (kept_dy, kept_x) = (kept_dy.keep(j), kept_x.keep(j));
            let mut scale_terms = [T::Statistic::default(); BLOCK];
            let mut shift_terms = [T::Statistic::default(); BLOCK];
            for_each_block(
                0..x.width,
                #[inline(always)]
                |start, width| {
                    dy.prefetch(start);
                    x.prefetch(start);
                    let (dy, x) = (dy.load(start, width), x.load(start, width));
                    (kept_dy[start / BLOCK], kept_x[start / BLOCK]) = (dy, x);
                    let shift = T::widen_all(dy);
                    let mut scale = T::widen_all(x);
                    let rstd = rstd.block(start, width);
                    for lane in 0..BLOCK {
                        scale[lane] = shift[lane] * (scale[lane] * rstd[lane]);
                    }
                    let sums = sums.block_mut(start);
                    for lane in 0..BLOCK {
                        sums[lane] += scale[lane] * gamma;
                    }
                    add_own(&mut scale_terms, scale, width);
                    add_own(&mut shift_terms, shift, width);
                },
            );
            if let Some(dgamma) = &mut dgamma {
                dgamma[j] += T::Statistic::from_f64(sum_lanes(&scale_terms));
            }
            if let Some(dbeta) = &mut dbeta {
                dbeta[j] += T::Statistic::from_f64(sum_lanes(&shift_terms));
            }
        },
    )
}

/// Adds to each dbeta_j what a tile's rows have of dy_j.
#[inline(always)]
pub(in crate::cpu) fn accumulate_each<'a, T: Element>(
    dy: impl Fn(usize) -> Line<'a, T>,
    dbeta: &mut [T::Statistic],
) {
    for (j, dbeta) in dbeta.iter_mut().enumerate() {
        let dy = dy(j);
        let mut terms = [T::Statistic::default(); BLOCK];
        for_each_block(
            0..dy.width,
            #[inline(always)]
            |start, width| {
                dy.prefetch(start);
                add_own(&mut terms, dy.block(start, width), width);
            },
        );
        *dbeta += T::Statistic::from_f64(sum_lanes(&terms));
    }
}

/// Adds the first `width` terms: those in the lanes behind belong to others.
#[inline(always)]
fn add_own<S: Statistic>(sums: &mut [S; BLOCK], terms: [S; BLOCK], width: usize) {
    for lane in 0..BLOCK {
        sums[lane] += if lane < width {
            terms[lane]
        } else {
            S::default()
        };
    }
}

/// What `add(j, sums)` adds for each of `lines` lines, each row by itself: in the statistic's type for
/// as many lines as a row has blocks in a span, and then in f64.
#[inline(always)]
fn sum_lines<S: Statistic>(
    lines: usize,
    mut add: impl FnMut(usize, &mut EachRow<S>),
) -> EachRow<f64> {
    let mut total = EachRow::<f64>::zeros();
    let mut span = 0;
    while span < lines {
        let end = lines.min(span + BLOCKS_A_SPAN);
        let mut sums = EachRow::<S>::zeros();
        for j in span..end {
            add(j, &mut sums);
        }
        for (total, sums) in total.blocks().zip(sums.blocks()) {
            for (total, sum) in total.iter_mut().zip(sums) {
                *total += sum.to_f64();
            }
        }
        span = end;
    }
    total
}
