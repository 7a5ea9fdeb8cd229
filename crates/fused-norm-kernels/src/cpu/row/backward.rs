//! The gradients of one row; the formulas are derived in the repository's `docs/math.md`.

use super::block::{Accumulator, BLOCK, Lanes, Parameter, for_each_block};
use super::statistic::sum_blocks;
use super::transform::Transform;
use super::values::Values;
use crate::cpu::Element;

/// `Σ_j dy_j·gamma_j·x̂_j` over all columns, with `x̂ = x·rstd`; adds each `dy_j·x̂_j` to `dgamma`.
#[inline(always)]
pub(in crate::cpu) fn correlate<T: Element>(
    dy: impl Values<T>,
    x: impl Values<T>,
    rstd: T::Statistic,
    gamma: impl Parameter<T::Statistic>,
    dgamma: &mut impl Accumulator<T::Statistic>,
) -> f64 {
    sum_blocks(
        x.len(),
        #[inline(always)]
        |start, width| {
            dy.prefetch(start);
            x.prefetch(start);
            let mut terms = dy.block(start, width);
            let x = x.block(start, width);
            // Loaded behind the products, it makes LLVM 21 keep those of f16 in memory: 1.6 × as long.
            let gamma = gamma.block(start, width);
            for lane in 0..BLOCK {
                terms[lane] = terms[lane] * (x[lane] * rstd);
            }
            dgamma.add(start, width, terms);
            #[allow(clippy::needless_range_loop)]
            // Like the loop above, which LLVM then treats alike.
            for lane in 0..BLOCK {
                terms[lane] = terms[lane] * gamma.at(lane);
            }
            terms
        },
    )
}

/// Adds each `dy_j` to `dbeta`.
#[inline(always)]
pub(in crate::cpu) fn accumulate<T: Element>(
    dy: impl Values<T>,
    dbeta: &mut impl Accumulator<T::Statistic>,
) {
    for_each_block(
        0..dy.len(),
        #[inline(always)]
        |start, width| {
            dbeta.add(start, width, dy.block(start, width));
        },
    );
}

/// Turns a row of dy into its row of dx: `rstd·(a_j − [j < k]·x̂_j·mean)`, with `a = dy·gamma`, `k`
/// features in the statistic and `mean` the [`correlate`]d sum over k.
#[inline(always)]
pub(in crate::cpu) fn input_gradient<T: Element>(
    mut row: impl Transform<T>,
    x: impl Values<T>,
    rstd: impl Parameter<T::Statistic>,
    gamma: impl Parameter<T::Statistic>,
    mean: impl Parameter<T::Statistic>,
    stat_len: usize,
) {
    for_each_block(
        0..stat_len,
        #[inline(always)]
        |start, width| {
            let block = row.load(start, width);
            let x = x.block(start, width);
            let gamma = gamma.block(start, width);
            let rstd = rstd.block(start, width);
            let mean = mean.block(start, width);
            row.change(
                start,
                width,
                block,
                #[inline(always)]
                |lane, dy| {
                    let a = dy * gamma.at(lane);
                    rstd.at(lane) * (a - x[lane] * rstd.at(lane) * mean.at(lane))
                },
                #[inline(always)]
                |_| {},
            );
        },
    );
    for_each_block(
        stat_len..x.len(),
        #[inline(always)]
        |start, width| {
            let block = row.load(start, width);
            let gamma = gamma.block(start, width);
            let rstd = rstd.block(start, width);
            row.change(
                start,
                width,
                block,
                #[inline(always)]
                |lane, dy| rstd.at(lane) * (dy * gamma.at(lane)),
                #[inline(always)]
                |_| {},
            );
        },
    );
}
