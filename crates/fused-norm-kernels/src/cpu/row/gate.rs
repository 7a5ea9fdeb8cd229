//! A row of gates becomes the row of what they multiply by.
//!
//! An exponential is dear, and a row needs it up to three times: for the statistic, for y, and for the
//! gradients. So it is taken once, and what comes out stays in memory that a task has for one row.

use alloc::vec;
use alloc::vec::Vec;

use super::block::{BLOCK, load_wide};
use super::cache::prefetch;
use super::silu::{silu, silu_and_slope};
use crate::cpu::{Element, Statistic};

/// Memory for one row in the type of computation, in whole blocks.
pub(in crate::cpu) struct Scratch<S> {
    blocks: Vec<[S; BLOCK]>,
    len: usize,
}

impl<S: Statistic> Scratch<S> {
    pub(in crate::cpu) fn new(len: usize) -> Self {
        Self {
            blocks: vec![[S::default(); BLOCK]; len.div_ceil(BLOCK)],
            len,
        }
    }

    #[inline(always)]
    pub(in crate::cpu) fn row(&self) -> &[S] {
        &self.blocks.as_flattened()[..self.len]
    }
}

/// `silu(gate)`, as long as the gate.
#[inline(always)]
pub(in crate::cpu) fn open<T: Element>(gate: &[T], to: &mut Scratch<T::Statistic>) {
    open_by(
        gate,
        &mut to.blocks,
        #[inline(always)]
        |block, mut values| {
            for value in &mut values {
                *value = silu(*value);
            }
            *block = values;
        },
    );
}

/// [`open`], and the derivative.
#[inline(always)]
pub(in crate::cpu) fn open_with_slope<T: Element>(
    gate: &[T],
    to: &mut Scratch<T::Statistic>,
    slope: &mut Scratch<T::Statistic>,
) {
    let blocks = to.blocks.iter_mut().zip(&mut slope.blocks);
    open_by(
        gate,
        blocks,
        #[inline(always)]
        |(block, slope), values| {
            for lane in 0..BLOCK {
                (block[lane], slope[lane]) = silu_and_slope(values[lane]);
            }
        },
    );
}

/// Gives each block of the gate to `open`, the last one with zeros behind: not by `for_each_block`,
/// which would have the exponential twice.
#[inline(always)]
fn open_by<T: Element, Block>(
    gate: &[T],
    blocks: impl IntoIterator<Item = Block>,
    mut open: impl FnMut(Block, [T::Statistic; BLOCK]),
) {
    for (index, block) in blocks.into_iter().enumerate() {
        let start = index * BLOCK;
        prefetch(gate, start);
        open(block, load_wide(gate, start, BLOCK.min(gate.len() - start)));
    }
}
