//! The gradients of one row; the formulas are derived in the repository's `docs/math.md`.

use super::block::{Accumulator, BLOCK, Parameter, Transform, for_each_block, load_wide};
use super::cache::prefetch;
use super::statistic::sum_blocks;
use crate::cpu::Element;

/// `Σ_j dy_j·gamma_j·x̂_j` over all columns, with `x̂ = x·rstd`; adds each `dy_j·x̂_j` to `dgamma`.
#[inline(always)]
pub(in crate::cpu) fn correlate<T: Element>(
    dy: &[T],
    x: &[T],
    rstd: T::Statistic,
    gamma: impl Parameter<T::Statistic>,
    dgamma: &mut impl Accumulator<T::Statistic>,
) -> f64 {
    sum_blocks(
        x.len(),
        #[inline(always)]
        |start, width| {
            prefetch(dy, start);
            prefetch(x, start);
            let mut terms = load_wide(dy, start, width);
            let x = load_wide(x, start, width);
            for lane in 0..BLOCK {
                terms[lane] = terms[lane] * (x[lane] * rstd);
            }
            dgamma.add(start, width, terms);
            let gamma = gamma.block(start, width);
            for lane in 0..BLOCK {
                terms[lane] = terms[lane] * gamma[lane];
            }
            terms
        },
    )
}

/// Adds each `dy_j` to `dbeta`.
#[inline(always)]
pub(in crate::cpu) fn accumulate<T: Element>(dy: &[T], dbeta: &mut impl Accumulator<T::Statistic>) {
    for_each_block(
        0..dy.len(),
        #[inline(always)]
        |start, width| {
            dbeta.add(start, width, load_wide(dy, start, width));
        },
    );
}

/// Turns a row of dy into its row of dx: `rstd·(a_j − [j < k]·x̂_j·mean)`, with `a = dy·gamma`, `k`
/// features in the statistic and `mean` the [`correlate`]d sum over k.
#[inline(always)]
pub(in crate::cpu) fn input_gradient<T: Element>(
    mut row: impl Transform<T>,
    x: &[T],
    rstd: T::Statistic,
    gamma: impl Parameter<T::Statistic>,
    mean: T::Statistic,
    stat_len: usize,
) {
    for_each_block(
        0..stat_len,
        #[inline(always)]
        |start, width| {
            let mut block = row.load(start, width);
            let x = load_wide(x, start, width);
            let gamma = gamma.block(start, width);
            T::change_all(
                &mut block,
                #[inline(always)]
                |lane, dy| {
                    let a = dy * gamma[lane];
                    rstd * (a - x[lane] * rstd * mean)
                },
            );
            row.store(start, width, block);
        },
    );
    for_each_block(
        stat_len..x.len(),
        #[inline(always)]
        |start, width| {
            let mut block = row.load(start, width);
            let gamma = gamma.block(start, width);
            T::change_all(
                &mut block,
                #[inline(always)]
                |lane, dy| rstd * (dy * gamma[lane]),
            );
            row.store(start, width, block);
        },
    );
}
