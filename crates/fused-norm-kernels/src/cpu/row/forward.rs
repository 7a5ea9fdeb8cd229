//! `y = x·rstd·gamma + beta`.

use super::block::{Column, Lanes, Ones, Parameter, Same, for_each_block};
use super::transform::Transform;
use crate::Rounding;
use crate::cpu::{Affine, Element, Statistic};

/// Turns a row of x into its row of y.
#[inline(always)]
pub(in crate::cpu) fn normalise<T: Element>(
    row: impl Transform<T>,
    row_len: usize,
    rstd: T::Statistic,
    affine: Affine<T::Statistic>,
    rounding: Rounding,
) {
    let rstd = Same(rstd);
    match affine {
        _ if rounds_in_steps::<T>(rounding) => {
            let (gamma, beta) = columns(affine);
            scale_in_steps(row, row_len, rstd, gamma, beta);
        }
        Affine::None => scale(row, row_len, rstd, Ones),
        Affine::Scale { gamma } => scale(row, row_len, rstd, gamma),
        Affine::ScaleShift { gamma, beta } => scale_shift(row, row_len, rstd, gamma, beta),
    }
}

/// The same bits by less code: whether there are gamma and beta is asked once a block.
#[inline(always)]
pub(in crate::cpu) fn normalise_compactly<T: Element>(
    row: impl Transform<T>,
    row_len: usize,
    rstd: impl Parameter<T::Statistic>,
    gamma: impl Parameter<T::Statistic>,
    beta: impl Parameter<T::Statistic>,
    rounding: Rounding,
) {
    match rounds_in_steps::<T>(rounding) {
        true => scale_in_steps(row, row_len, rstd, gamma, beta),
        false => scale_shift(row, row_len, rstd, gamma, beta),
    }
}

/// gamma, or 1; beta, or −0, to which every number can be added and is what it was.
#[inline(always)]
pub(in crate::cpu) fn columns<S: Statistic>(
    affine: Affine<'_, S>,
) -> (Column<'_, S>, Column<'_, S>) {
    let gamma = affine.gamma().map_or(Column::Same(S::ONE), Column::Each);
    let beta = affine
        .beta()
        .map_or(Column::Same(S::NEGATIVE_ZERO), Column::Each);
    (gamma, beta)
}

/// Of a type that is its own type of computation, nothing is rounded on the way.
#[inline(always)]
fn rounds_in_steps<T: Element>(rounding: Rounding) -> bool {
    rounding == Rounding::BeforeGamma && size_of::<T>() < size_of::<T::Statistic>()
}

#[inline(always)]
fn scale<T: Element>(
    mut row: impl Transform<T>,
    row_len: usize,
    rstd: impl Parameter<T::Statistic>,
    gamma: impl Parameter<T::Statistic>,
) {
    for_each_block(
        0..row_len,
        #[inline(always)]
        |start, width| {
            let block = row.load(start, width);
            let rstd = rstd.block(start, width);
            let gamma = gamma.block(start, width);
            row.change(
                start,
                width,
                block,
                #[inline(always)]
                |lane, x| x * rstd.at(lane) * gamma.at(lane),
                #[inline(always)]
                |_| {},
            );
        },
    );
}

#[inline(always)]
fn scale_shift<T: Element>(
    mut row: impl Transform<T>,
    row_len: usize,
    rstd: impl Parameter<T::Statistic>,
    gamma: impl Parameter<T::Statistic>,
    beta: impl Parameter<T::Statistic>,
) {
    for_each_block(
        0..row_len,
        #[inline(always)]
        |start, width| {
            let block = row.load(start, width);
            let rstd = rstd.block(start, width);
            let gamma = gamma.block(start, width);
            let beta = beta.block(start, width);
            row.change(
                start,
                width,
                block,
                #[inline(always)]
                |lane, x| x * rstd.at(lane) * gamma.at(lane) + beta.at(lane),
                #[inline(always)]
                |_| {},
            );
        },
    );
}

/// Rounded after every step.
#[inline(always)]
fn scale_in_steps<T: Element>(
    mut row: impl Transform<T>,
    row_len: usize,
    rstd: impl Parameter<T::Statistic>,
    gamma: impl Parameter<T::Statistic>,
    beta: impl Parameter<T::Statistic>,
) {
    for_each_block(
        0..row_len,
        #[inline(always)]
        |start, width| {
            let block = row.load(start, width);
            let rstd = rstd.block(start, width);
            let gamma = gamma.block(start, width);
            let beta = beta.block(start, width);
            row.change(
                start,
                width,
                block,
                #[inline(always)]
                |lane, x| x * rstd.at(lane),
                #[inline(always)]
                |block| {
                    T::change_all(
                        block,
                        #[inline(always)]
                        |lane, x| x * gamma.at(lane),
                    );
                    T::change_all(
                        block,
                        #[inline(always)]
                        |lane, x| x + beta.at(lane),
                    );
                },
            );
        },
    );
}
