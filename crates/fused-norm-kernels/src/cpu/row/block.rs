//! A row in blocks: how they are cut, loaded and stored.

use core::mem::MaybeUninit;
use core::ops::Range;

use super::cache;
use crate::cpu::{Element, Statistic};

/// Elements of a block: two vectors of 512 bits or four of 256 in f32, enough independent sums to
/// hide the latency of an addition, few enough for the 16 registers of older processors.
pub(super) const BLOCK: usize = 32;

/// Calls `work(start, width)` for each block of `range`; all but the last have `width == BLOCK`,
/// which the compiler sees in the first loop.
#[inline(always)]
pub(super) fn for_each_block(range: Range<usize>, mut work: impl FnMut(usize, usize)) {
    let mut start = range.start;
    while range.end - start >= BLOCK {
        work(start, BLOCK);
        start += BLOCK;
    }
    if start < range.end {
        work(start, range.end - start);
    }
}

/// `width` elements from `start`, and zeros.
#[inline(always)]
pub(super) fn load<T: Copy + Default>(row: &[T], start: usize, width: usize) -> [T; BLOCK] {
    if width == BLOCK
        && let Some(block) = row[start..].first_chunk()
    {
        return *block;
    }
    let mut block = [T::default(); BLOCK];
    block[..width].copy_from_slice(&row[start..start + width]);
    block
}

/// [`load`], in the type of computation.
#[inline(always)]
pub(super) fn load_wide<T: Element>(
    row: &[T],
    start: usize,
    width: usize,
) -> [T::Statistic; BLOCK] {
    T::widen_all(load(row, start, width))
}

/// [`load_wide`] where the row may go on behind the `width` elements: they are read with the others,
/// and left out afterwards, which is faster than to read fewer.
#[inline(always)]
pub(super) fn load_first<T: Element>(
    row: &[T],
    start: usize,
    width: usize,
) -> [T::Statistic; BLOCK] {
    if width == BLOCK || row.len() - start < BLOCK {
        return load_wide(row, start, width);
    }
    let mut block = load_wide(row, start, BLOCK);
    for (lane, value) in block.iter_mut().enumerate() {
        *value = if lane < width {
            *value
        } else {
            T::Statistic::default()
        };
    }
    block
}

/// A row that becomes another one.
pub(in crate::cpu) trait Transform<T> {
    /// `width` elements from `start`, and zeros.
    fn load(&self, start: usize, width: usize) -> [T; BLOCK];
    /// Stores the first `width` elements from `start`.
    fn store(&mut self, start: usize, width: usize, block: [T; BLOCK]);
}

/// Reads one buffer and writes another.
pub(in crate::cpu) struct Copied<'a, T> {
    pub from: &'a [T],
    pub to: &'a mut [MaybeUninit<T>],
}

/// The same, past the caches; a [`fence`](super::fence) has to follow.
pub(in crate::cpu) struct Streamed<'a, T>(pub Copied<'a, T>);

/// Overwrites what it has read.
pub(in crate::cpu) struct InPlace<'a, T>(pub &'a mut [T]);

impl<T: Element> Transform<T> for Copied<'_, T> {
    #[inline(always)]
    fn load(&self, start: usize, width: usize) -> [T; BLOCK] {
        load(self.from, start, width)
    }

    #[inline(always)]
    fn store(&mut self, start: usize, width: usize, block: [T; BLOCK]) {
        self.to[start..start + width].write_copy_of_slice(&block[..width]);
    }
}

impl<T: Element> Transform<T> for Streamed<'_, T> {
    #[inline(always)]
    fn load(&self, start: usize, width: usize) -> [T; BLOCK] {
        self.0.load(start, width)
    }

    #[inline(always)]
    fn store(&mut self, start: usize, width: usize, block: [T; BLOCK]) {
        cache::store(&mut self.0.to[start..start + width], &block[..width]);
    }
}

impl<T: Copy + Default> Transform<T> for InPlace<'_, T> {
    #[inline(always)]
    fn load(&self, start: usize, width: usize) -> [T; BLOCK] {
        load(self.0, start, width)
    }

    #[inline(always)]
    fn store(&mut self, start: usize, width: usize, block: [T; BLOCK]) {
        self.0[start..start + width].copy_from_slice(&block[..width]);
    }
}

/// A parameter with one value a column.
pub(in crate::cpu) trait Parameter<S>: Copy {
    /// `width` values from column `start`.
    fn block(&self, start: usize, width: usize) -> [S; BLOCK];
}

/// The scale of a row that has none.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Ones;

impl<S: Statistic> Parameter<S> for Ones {
    #[inline(always)]
    fn block(&self, _: usize, _: usize) -> [S; BLOCK] {
        [S::ONE; BLOCK]
    }
}

impl<S: Statistic> Parameter<S> for &[S] {
    #[inline(always)]
    fn block(&self, start: usize, width: usize) -> [S; BLOCK] {
        load(self, start, width)
    }
}

/// Sums with one value a column.
pub(in crate::cpu) trait Accumulator<S> {
    /// Adds the first `width` terms to the sums from column `start`.
    fn add(&mut self, start: usize, width: usize, terms: [S; BLOCK]);
}

/// Sums that nobody wants.
pub(in crate::cpu) struct Discard;

impl<S> Accumulator<S> for Discard {
    #[inline(always)]
    fn add(&mut self, _: usize, _: usize, _: [S; BLOCK]) {}
}

impl<S: Statistic> Accumulator<S> for &mut [S] {
    #[inline(always)]
    fn add(&mut self, start: usize, width: usize, terms: [S; BLOCK]) {
        for (sum, term) in self[start..start + width].iter_mut().zip(terms) {
            *sum += term;
        }
    }
}
