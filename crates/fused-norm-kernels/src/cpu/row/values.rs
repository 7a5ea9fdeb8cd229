//! The values of a row in the type of computation, whether they lie in memory or are formed from
//! what does.

use super::block::{BLOCK, Lanes, Parameter, load, load_wide};
use super::cache::{prefetch, prefetch_next};
use super::transform::{Destination, Transform};
use crate::cpu::Element;

/// A row's values, block by block; `T` is the type of storage behind them.
pub(in crate::cpu) trait Values<T: Element>: Copy {
    /// Values of the row.
    fn len(&self) -> usize;

    /// The first `len` values.
    fn first(self, len: usize) -> Self;

    /// `width` values from `start`, and zeros.
    fn block(&self, start: usize, width: usize) -> [T::Statistic; BLOCK];

    /// Asks for what is needed some time after the block at `start`, in this row or a later one.
    fn prefetch(&self, start: usize);
}

impl<T: Element> Values<T> for &[T] {
    #[inline(always)]
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    #[inline(always)]
    fn first(self, len: usize) -> Self {
        &self[..len]
    }

    #[inline(always)]
    fn block(&self, start: usize, width: usize) -> [T::Statistic; BLOCK] {
        load_wide(self, start, width)
    }

    #[inline(always)]
    fn prefetch(&self, start: usize) {
        prefetch(self, start);
    }
}

/// The sum of two rows, unrounded.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Sum<'a, T> {
    pub x: &'a [T],
    pub residual: &'a [T],
}

impl<T: Element> Values<T> for Sum<'_, T> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.x.len()
    }

    #[inline(always)]
    fn first(self, len: usize) -> Self {
        Self {
            x: &self.x[..len],
            residual: &self.residual[..len],
        }
    }

    #[inline(always)]
    fn block(&self, start: usize, width: usize) -> [T::Statistic; BLOCK] {
        let mut sums = load_wide(self.x, start, width);
        let residual = load_wide(self.residual, start, width);
        for lane in 0..BLOCK {
            sums[lane] += residual[lane];
        }
        sums
    }

    #[inline(always)]
    fn prefetch(&self, start: usize) {
        prefetch(self.x, start);
        prefetch(self.residual, start);
    }
}

/// A row times another one that is already in the type of computation, unrounded.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Product<'a, T: Element> {
    pub row: &'a [T],
    pub by: &'a [T::Statistic],
}

impl<T: Element> Values<T> for Product<'_, T> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.row.len()
    }

    #[inline(always)]
    fn first(self, len: usize) -> Self {
        Self {
            row: &self.row[..len],
            by: &self.by[..len],
        }
    }

    #[inline(always)]
    fn block(&self, start: usize, width: usize) -> [T::Statistic; BLOCK] {
        let mut products = load_wide(self.row, start, width);
        let by = load(self.by, start, width);
        for lane in 0..BLOCK {
            products[lane] = products[lane] * by[lane];
        }
        products
    }

    #[inline(always)]
    fn prefetch(&self, start: usize) {
        prefetch(self.row, start);
    }
}

impl<T: Element> Parameter<T::Statistic> for Product<'_, T> {
    type Block = [T::Statistic; BLOCK];

    #[inline(always)]
    fn block(&self, start: usize, width: usize) -> [T::Statistic; BLOCK] {
        Values::block(self, start, width)
    }
}

/// Reads values that are formed, and writes what becomes of them.
pub(in crate::cpu) struct Formed<From, To> {
    pub from: From,
    pub to: To,
}

impl<T: Element, From: Values<T>, To: Destination<T>> Transform<T> for Formed<From, To> {
    type Block = [T::Statistic; BLOCK];

    #[inline(always)]
    fn load(&self, start: usize, width: usize) -> [T::Statistic; BLOCK] {
        self.from.block(start, width)
    }

    #[inline(always)]
    fn change(
        &mut self,
        start: usize,
        width: usize,
        values: [T::Statistic; BLOCK],
        change: impl Fn(usize, T::Statistic) -> T::Statistic,
        then: impl Fn(&mut [T; BLOCK]),
    ) {
        let mut block = T::narrow_all(
            #[inline(always)]
            |lane| change(lane, values[lane]),
        );
        then(&mut block);
        self.to.store(start, width, block);
    }
}

/// The same, where what becomes of the values is multiplied by others before it is rounded.
pub(in crate::cpu) struct Multiplied<From, By, To> {
    pub from: From,
    pub by: By,
    pub to: To,
}

impl<T, From, By, To> Transform<T> for Multiplied<From, By, To>
where
    T: Element,
    From: Values<T>,
    By: Parameter<T::Statistic>,
    To: Destination<T>,
{
    type Block = [T::Statistic; BLOCK];

    #[inline(always)]
    fn load(&self, start: usize, width: usize) -> [T::Statistic; BLOCK] {
        self.from.block(start, width)
    }

    #[inline(always)]
    fn change(
        &mut self,
        start: usize,
        width: usize,
        values: [T::Statistic; BLOCK],
        change: impl Fn(usize, T::Statistic) -> T::Statistic,
        then: impl Fn(&mut [T; BLOCK]),
    ) {
        let by = self.by.block(start, width);
        let mut block = T::narrow_all(
            #[inline(always)]
            |lane| change(lane, values[lane]) * by.at(lane),
        );
        then(&mut block);
        self.to.store(start, width, block);
    }
}

/// Reads the sum of two rows, and writes the sum, rounded, and what becomes of the unrounded one.
pub(in crate::cpu) struct SumAndNorm<'a, T, To> {
    pub from: Sum<'a, T>,
    /// Of x and of the residual: whether the next row begins where this one ends.
    pub next_follows: [bool; 2],
    pub sum: To,
    pub y: To,
}

impl<T: Element, To: Destination<T>> Transform<T> for SumAndNorm<'_, T, To> {
    type Block = [T::Statistic; BLOCK];

    #[inline(always)]
    fn load(&self, start: usize, width: usize) -> [T::Statistic; BLOCK] {
        if To::STREAMS {
            let Sum { x, residual } = self.from;
            for (row, next_follows) in [x, residual].into_iter().zip(self.next_follows) {
                if next_follows {
                    prefetch_next(row, start);
                }
            }
        }
        self.from.block(start, width)
    }

    #[inline(always)]
    fn change(
        &mut self,
        start: usize,
        width: usize,
        values: [T::Statistic; BLOCK],
        change: impl Fn(usize, T::Statistic) -> T::Statistic,
        then: impl Fn(&mut [T; BLOCK]),
    ) {
        let sum = T::narrow_all(
            #[inline(always)]
            |lane| values[lane],
        );
        self.sum.store(start, width, sum);
        let mut y = T::narrow_all(
            #[inline(always)]
            |lane| change(lane, values[lane]),
        );
        then(&mut y);
        self.y.store(start, width, y);
    }
}
