//! `y = x·rstd·gamma + beta`.

use super::block::{Ones, Parameter, Transform, for_each_block};
use crate::cpu::{Affine, Element};

/// Turns a row of x into its row of y.
#[inline(always)]
pub(in crate::cpu) fn normalise<T: Element>(
    row: impl Transform<T>,
    row_len: usize,
    rstd: T::Statistic,
    affine: Affine<T::Statistic>,
) {
    match affine {
        Affine::None => scale(row, row_len, rstd, Ones),
        Affine::Scale { gamma } => scale(row, row_len, rstd, gamma),
        Affine::ScaleShift { gamma, beta } => scale_shift(row, row_len, rstd, gamma, beta),
    }
}

#[inline(always)]
fn scale<T: Element>(
    mut row: impl Transform<T>,
    row_len: usize,
    rstd: T::Statistic,
    gamma: impl Parameter<T::Statistic>,
) {
    for_each_block(
        0..row_len,
        #[inline(always)]
        |start, width| {
            let mut block = row.load(start, width);
            let gamma = gamma.block(start, width);
            T::change_all(
                &mut block,
                #[inline(always)]
                |lane, x| x * rstd * gamma[lane],
            );
            row.store(start, width, block);
        },
    );
}

#[inline(always)]
fn scale_shift<T: Element>(
    mut row: impl Transform<T>,
    row_len: usize,
    rstd: T::Statistic,
    gamma: impl Parameter<T::Statistic>,
    beta: impl Parameter<T::Statistic>,
) {
    for_each_block(
        0..row_len,
        #[inline(always)]
        |start, width| {
            let mut block = row.load(start, width);
            let gamma = gamma.block(start, width);
            let beta = beta.block(start, width);
            T::change_all(
                &mut block,
                #[inline(always)]
                |lane, x| x * rstd * gamma[lane] + beta[lane],
            );
            row.store(start, width, block);
        },
    );
}
