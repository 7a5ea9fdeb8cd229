//! Rows that lie side by side, where they are and what is known of each.
//!
//! A *line* is the elements with one index of a tile's rows, neighbours in memory. What is one number
//! for a row, its statistic among it, is here one number a lane; what is one number a column is here
//! the same for a whole line.

use alloc::vec;
use alloc::vec::Vec;

use super::block::{BLOCK, Parameter, load};
use super::cache::prefetch_at;
use super::transform::Stored;
use super::values::Values;
use crate::cpu::{Element, Statistic};

/// Rows of a tile at most.
pub(in crate::cpu) const TILE: usize = BLOCKS * BLOCK;

const BLOCKS: usize = 8;

/// Lines ahead for which memory is asked: those of a tile are pages apart, where no processor looks
/// for them.
const LINES_AHEAD: usize = 4;

/// One value for each row of a tile.
pub(in crate::cpu) struct EachRow<S>([[S; BLOCK]; BLOCKS]);

impl<S: Statistic> EachRow<S> {
    #[inline(always)]
    pub(super) fn zeros() -> Self {
        Self([[S::default(); BLOCK]; BLOCKS])
    }

    /// `value(row)` for each of `rows` rows.
    #[inline(always)]
    pub(in crate::cpu) fn from_fn(rows: usize, value: impl Fn(usize) -> S) -> Self {
        let mut all = Self::zeros();
        for row in 0..rows {
            all.0[row / BLOCK][row % BLOCK] = value(row);
        }
        all
    }

    /// The values of the rows from `start` on.
    #[inline(always)]
    pub(super) fn block_mut(&mut self, start: usize) -> &mut [S; BLOCK] {
        &mut self.0[start / BLOCK]
    }

    #[inline(always)]
    pub(super) fn blocks(&mut self) -> impl Iterator<Item = &mut [S; BLOCK]> {
        self.0.iter_mut()
    }

    /// The value of one row.
    #[inline(always)]
    pub(in crate::cpu) fn get(&self, row: usize) -> S {
        self.0[row / BLOCK][row % BLOCK]
    }
}

impl<S: Statistic> Parameter<S> for &EachRow<S> {
    type Block = [S; BLOCK];

    #[inline(always)]
    fn block(&self, start: usize, _: usize) -> [S; BLOCK] {
        self.0[start / BLOCK]
    }
}

/// A line of `width` elements, and what follows them in the buffer.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Line<'a, T> {
    pub data: &'a [T],
    pub width: usize,
    /// Elements from one line to the next.
    pub step: usize,
}

/// Whatever the buffer has in the lanes behind, which is faster than to read fewer: rows do not
/// depend on each other.
impl<T: Copy + Default> Stored<T> for Line<'_, T> {
    #[inline(always)]
    fn load(&self, start: usize, width: usize) -> [T; BLOCK] {
        match self.data[start..].first_chunk() {
            Some(block) => *block,
            None => load(self.data, start, width),
        }
    }
}

impl<T: Element> Values<T> for Line<'_, T> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.width
    }

    #[inline(always)]
    fn first(self, width: usize) -> Self {
        Self { width, ..self }
    }

    #[inline(always)]
    fn block(&self, start: usize, width: usize) -> [T::Statistic; BLOCK] {
        T::widen_all(self.load(start, width))
    }

    #[inline(always)]
    fn prefetch(&self, start: usize) {
        prefetch_at(self.data, start, LINES_AHEAD * self.step * size_of::<T>());
    }
}

/// A tile's lines one after the other, as they were read for the first time. In place they are often
/// a power of two apart, so that they push each other out of the caches, and each is in a page of its
/// own.
pub(in crate::cpu) struct Kept<T> {
    blocks: Vec<[T; BLOCK]>,
    blocks_a_line: usize,
}

impl<T: Element> Kept<T> {
    /// For tiles of up to `width` rows.
    pub(in crate::cpu) fn new(lines: usize, width: usize) -> Self {
        let blocks_a_line = width.div_ceil(BLOCK);
        Self {
            blocks: vec![[T::default(); BLOCK]; lines * blocks_a_line],
            blocks_a_line,
        }
    }

    #[inline(always)]
    pub(super) fn keep(&mut self, j: usize) -> &mut [[T; BLOCK]] {
        &mut self.blocks[j * self.blocks_a_line..][..self.blocks_a_line]
    }

    /// A line that has been kept, of `width` elements.
    #[inline(always)]
    pub(in crate::cpu) fn line(&self, j: usize, width: usize) -> Line<'_, T> {
        let data = &self.blocks[j * self.blocks_a_line..][..self.blocks_a_line];
        Line {
            data: data.as_flattened(),
            width,
            step: data.len() * BLOCK,
        }
    }
}

/// One row, whose elements are `step` apart.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Strided<'a, T> {
    pub data: &'a [T],
    pub len: usize,
    pub step: usize,
}

impl<T: Element> Values<T> for Strided<'_, T> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn first(self, len: usize) -> Self {
        Self { len, ..self }
    }

    #[inline(always)]
    fn block(&self, start: usize, width: usize) -> [T::Statistic; BLOCK] {
        let mut block = [T::Statistic::default(); BLOCK];
        for (lane, value) in block[..width].iter_mut().enumerate() {
            *value = self.data[(start + lane) * self.step].widen();
        }
        block
    }

    #[inline(always)]
    fn prefetch(&self, _: usize) {}
}
