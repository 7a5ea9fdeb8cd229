//! A row that becomes another one: where it is read, and where the other one goes.

use core::mem::MaybeUninit;

use super::block::{BLOCK, load};
use super::cache::{Streamed, Streaming, prefetch_next};
use crate::cpu::Element;

/// A row that is changed block by block.
pub(in crate::cpu) trait Transform<T: Element> {
    /// A block as it is read.
    type Block;

    /// `width` values from `start`.
    fn load(&self, start: usize, width: usize) -> Self::Block;

    /// Makes `change(lane, value)` of the block at `start`, computed in the type of computation and
    /// rounded once, and stores what `then` makes of the rounded block.
    fn change(
        &mut self,
        start: usize,
        width: usize,
        block: Self::Block,
        change: impl Fn(usize, T::Statistic) -> T::Statistic,
        then: impl Fn(&mut [T; BLOCK]),
    );
}

/// A row in memory.
pub(in crate::cpu) trait Stored<T>: Copy {
    /// `width` elements from `start`; the lanes behind them belong to nobody.
    fn load(&self, start: usize, width: usize) -> [T; BLOCK];
}

/// Zeros in the lanes behind.
impl<T: Copy + Default> Stored<T> for &[T] {
    #[inline(always)]
    fn load(&self, start: usize, width: usize) -> [T; BLOCK] {
        load(self, start, width)
    }
}

/// A row that is read for the last time: the next one is asked for meanwhile, if it begins where this one ends.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Leaving<'a, T> {
    pub row: &'a [T],
    pub next_follows: bool,
}

impl<T: Copy + Default> Stored<T> for Leaving<'_, T> {
    #[inline(always)]
    fn load(&self, start: usize, width: usize) -> [T; BLOCK] {
        if self.next_follows {
            prefetch_next(self.row, start);
        }
        load(self.row, start, width)
    }
}

/// Where a row of results goes.
pub(in crate::cpu) trait Destination<T> {
    /// Whether what is stored goes past the caches, as far as it can.
    const STREAMS: bool = false;

    /// Stores the first `width` elements from `start`.
    fn store(&mut self, start: usize, width: usize, block: [T; BLOCK]);
}

/// New memory.
pub(in crate::cpu) struct New<'a, T>(pub &'a mut [MaybeUninit<T>]);

impl<T: Element> Destination<T> for New<'_, T> {
    #[inline(always)]
    fn store(&mut self, start: usize, width: usize, block: [T; BLOCK]) {
        self.0[start..start + width].write_copy_of_slice(&block[..width]);
    }
}

/// Either, which is asked once a block, for less code.
pub(in crate::cpu) enum Memory<'a, T> {
    New(New<'a, T>),
    Streamed(Streamed<'a, T>),
}

impl<'a, T> Memory<'a, T> {
    #[inline(always)]
    pub(in crate::cpu) fn new(to: &'a mut [MaybeUninit<T>], stream: Option<&'a Streaming>) -> Self {
        match stream {
            Some(stream) => Self::Streamed(stream.to(to)),
            None => Self::New(New(to)),
        }
    }
}

impl<T: Element> Destination<T> for Memory<'_, T> {
    #[inline(always)]
    fn store(&mut self, start: usize, width: usize, block: [T; BLOCK]) {
        match self {
            Self::New(to) => to.store(start, width, block),
            Self::Streamed(to) => to.store(start, width, block),
        }
    }
}

/// Reads one buffer and writes another.
pub(in crate::cpu) struct Copied<From, To> {
    pub from: From,
    pub to: To,
}

/// Overwrites what it has read.
pub(in crate::cpu) struct InPlace<'a, T>(pub &'a mut [T]);

impl<T: Element, From: Stored<T>, To: Destination<T>> Transform<T> for Copied<From, To> {
    type Block = [T; BLOCK];

    #[inline(always)]
    fn load(&self, start: usize, width: usize) -> [T; BLOCK] {
        self.from.load(start, width)
    }

    #[inline(always)]
    fn change(
        &mut self,
        start: usize,
        width: usize,
        mut block: [T; BLOCK],
        change: impl Fn(usize, T::Statistic) -> T::Statistic,
        then: impl Fn(&mut [T; BLOCK]),
    ) {
        T::change_all(&mut block, change);
        then(&mut block);
        self.to.store(start, width, block);
    }
}

impl<T: Element> Transform<T> for InPlace<'_, T> {
    type Block = [T; BLOCK];

    #[inline(always)]
    fn load(&self, start: usize, width: usize) -> [T; BLOCK] {
        load(self.0, start, width)
    }

    #[inline(always)]
    fn change(
        &mut self,
        start: usize,
        width: usize,
        mut block: [T; BLOCK],
        change: impl Fn(usize, T::Statistic) -> T::Statistic,
        then: impl Fn(&mut [T; BLOCK]),
    ) {
        T::change_all(&mut block, change);
        then(&mut block);
        self.0[start..start + width].copy_from_slice(&block[..width]);
    }
}
