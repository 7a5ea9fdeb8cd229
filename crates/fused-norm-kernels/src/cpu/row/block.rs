//! A row in blocks: how they are cut and loaded, and what stands beside them column by column.

use core::ops::Range;

use crate::cpu::{Element, Statistic};

/// Elements of a block: two vectors of 512 bits or four of 256 in f32, enough independent sums to
/// hide the latency of an addition, few enough for the 16 registers of older processors.
pub(in crate::cpu) const BLOCK: usize = 32;

/// Calls `work(start, width)` for each block of `range`; all but the last have `width == BLOCK`,
/// which the compiler sees in the first loop.
#[inline(always)]
pub(super) fn for_each_block(range: Range<usize>, mut work: impl FnMut(usize, usize)) {
    let mut start = range.start;
    while range.end - start >= BLOCK {
        work(start, BLOCK);
        start += BLOCK;
        keep_apart();
    }
    if start < range.end {
        work(start, range.end - start);
    }
}

/// Ends a block in a loop over blocks. Where LLVM 21 can prove every bound, it takes such a loop for
/// one to be vectorised as a whole, a vector for each lane, gathered from as many blocks (a backward
/// row with `stat_len` below `row_len` took 2.3 × as long).
#[inline(always)]
fn keep_apart() {
    #[cfg(all(not(miri), any(target_arch = "x86_64", target_arch = "aarch64")))]
    // SAFETY: no instruction, which reads and writes nothing.
    unsafe {
        core::arch::asm!("", options(nomem, nostack, preserves_flags));
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

/// A parameter with one value a column.
pub(in crate::cpu) trait Parameter<S>: Copy {
    /// A block of values.
    type Block: Lanes<S>;

    /// `width` values from column `start`.
    fn block(&self, start: usize, width: usize) -> Self::Block;
}

/// The values of a block.
pub(in crate::cpu) trait Lanes<S>: Copy {
    /// The value of one lane.
    fn at(&self, lane: usize) -> S;
}

impl<S: Copy> Lanes<S> for [S; BLOCK] {
    #[inline(always)]
    fn at(&self, lane: usize) -> S {
        self[lane]
    }
}

/// The scale of a row that has none.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Ones;

impl<S: Statistic> Parameter<S> for Ones {
    type Block = [S; BLOCK];

    #[inline(always)]
    fn block(&self, _: usize, _: usize) -> [S; BLOCK] {
        [S::ONE; BLOCK]
    }
}

/// One value for every column: a number, where LLVM makes a loop of the filling of an array.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Same<S>(pub S);

impl<S: Statistic> Parameter<S> for Same<S> {
    type Block = Self;

    #[inline(always)]
    fn block(&self, _: usize, _: usize) -> Self {
        *self
    }
}

impl<S: Copy> Lanes<S> for Same<S> {
    #[inline(always)]
    fn at(&self, _: usize) -> S {
        self.0
    }
}

impl<S: Statistic> Parameter<S> for &[S] {
    type Block = [S; BLOCK];

    #[inline(always)]
    fn block(&self, start: usize, width: usize) -> [S; BLOCK] {
        load(self, start, width)
    }
}

/// What need not be a type of its own: asked once a block, for less code.
#[derive(Clone, Copy)]
pub(in crate::cpu) enum Column<'a, S> {
    Same(S),
    Each(&'a [S]),
}

impl<S: Statistic> Column<'_, S> {
    /// The value of one column.
    #[inline(always)]
    pub(in crate::cpu) fn at(&self, column: usize) -> S {
        match self {
            Self::Same(value) => *value,
            Self::Each(values) => values[column],
        }
    }
}

impl<S: Statistic> Parameter<S> for Column<'_, S> {
    type Block = [S; BLOCK];

    #[inline(always)]
    fn block(&self, start: usize, width: usize) -> [S; BLOCK] {
        match self {
            Self::Same(value) => [*value; BLOCK],
            Self::Each(values) => load(values, start, width),
        }
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

/// Sums that somebody may want: asked once a block.
impl<S, A: Accumulator<S>> Accumulator<S> for Option<A> {
    #[inline(always)]
    fn add(&mut self, start: usize, width: usize, terms: [S; BLOCK]) {
        if let Some(sums) = self {
            sums.add(start, width, terms);
        }
    }
}
