//! What the caches are told: which lines are needed soon, and which never again.
//!
//! A processor's own prefetching ends with every page of 4 KiB, which is at the latest with every row
//! of 1024 in f32. A store to a line that no cache holds reads the line first: an output too large for
//! the caches pays that for all of its bytes, and pushes out what is still needed; a store past the
//! caches does neither. What both are worth is measured in the repository's `docs/performance.md`.

#[cfg(target_arch = "x86_64")]
use core::hint::black_box;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::RangeInclusive;

use super::block::BLOCK;
use super::transform::Destination;
use crate::cpu::Element;

/// How far ahead of a row's block the memory is asked for, in bytes.
const PREFETCH_BYTES: usize = 2048;

/// Rows whose successor is asked for while their own results are stored past the caches: shorter ones
/// gain a few hundredths or lose as much, and much longer ones a fifth.
const NEXT_ROW_BYTES: RangeInclusive<usize> = 4 << 10..=64 << 10;

/// Bytes of an output from which its stores go past the caches. Where the next operation reads it at
/// once and the caches hold it, both take a fifth longer at this size, and as long at twice the size;
/// where the memory is not the last output's, as of tensors that are kept, both take a fifth less.
pub(in crate::cpu) const STREAM_BYTES: usize = 8 << 20;

/// Asks for what lies [`PREFETCH_BYTES`] behind the block at `start`, in this row or a later one.
#[inline(always)]
pub(super) fn prefetch<T>(row: &[T], start: usize) {
    prefetch_at(row, start, PREFETCH_BYTES);
}

/// Asks for what lies [`PREFETCH_BYTES`] behind the block at `start`, but of the next row, which begins where
/// this one ends, if rows are [`NEXT_ROW_BYTES`] long: this one is read for the last time, and the memory has
/// nothing else to read.
#[inline(always)]
pub(super) fn prefetch_next<T>(row: &[T], start: usize) {
    let bytes = size_of_val(row);
    if NEXT_ROW_BYTES.contains(&bytes) {
        prefetch_at(row, start, bytes + PREFETCH_BYTES);
    }
}

/// Asks for what lies `bytes` behind the block at `start`.
#[inline(always)]
pub(super) fn prefetch_at<T>(row: &[T], start: usize, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

        const LINE: usize = 64;
        let block = row.as_ptr().wrapping_add(start).cast::<i8>();
        for line in 0..(BLOCK * size_of::<T>()).div_ceil(LINE) {
            let ahead = block.wrapping_add(bytes + line * LINE);
            // SAFETY: a prefetch is a hint, which may be given for any address: it reads nothing and
            // cannot fault. x86-64 has SSE, whose instruction it is.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(ahead) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (row, start, bytes);
}

/// A block that starts where a line of the caches does.
#[cfg(target_arch = "x86_64")]
#[repr(align(64))]
struct Staged<T>([T; BLOCK]);

/// Stores past the caches, of one task on one thread. What it synchronises later does not order them for
/// other threads: a fence does, when this is dropped at the end of the task, which shares its memory with
/// nobody before.
pub(in crate::cpu) struct Streaming {
    /// A fence is for the stores of its own thread.
    not_sent: PhantomData<*const ()>,
}

impl Streaming {
    /// Where they are wanted.
    #[inline(always)]
    pub(in crate::cpu) fn when(wanted: bool) -> Option<Self> {
        wanted.then_some(Self {
            not_sent: PhantomData,
        })
    }

    /// Memory to be written so.
    #[inline(always)]
    pub(in crate::cpu) fn to<'a, T>(&'a self, memory: &'a mut [MaybeUninit<T>]) -> Streamed<'a, T> {
        Streamed {
            memory,
            fenced_by: PhantomData,
        }
    }
}

impl Drop for Streaming {
    #[inline(always)]
    fn drop(&mut self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: x86-64 has SSE2, which is all that the instruction needs.
        unsafe {
            core::arch::x86_64::_mm_sfence();
        }
    }
}

/// New memory, past the caches: but for blocks that are no whole 16 bytes, or begin between them.
pub(in crate::cpu) struct Streamed<'a, T> {
    memory: &'a mut [MaybeUninit<T>],
    fenced_by: PhantomData<&'a Streaming>,
}

impl<T: Element> Destination<T> for Streamed<'_, T> {
    const STREAMS: bool = true;

    #[inline(always)]
    fn store(&mut self, start: usize, width: usize, block: [T; BLOCK]) {
        store(&mut self.memory[start..start + width], block);
    }
}

/// Stores the start of `block` into `to`, which is no longer than it and belongs to a [`Streamed`].
#[inline(always)]
fn store<T: Element>(to: &mut [MaybeUninit<T>], block: [T; BLOCK]) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};

        let target = to.as_mut_ptr().cast::<__m128i>();
        let bytes = size_of_val(to);
        if target.is_aligned() && bytes.is_multiple_of(16) {
            // Seen together with these stores, a block of f32 or f64 would be computed in vectors of 128
            // bits. It is written to the stack in wide ones, of whole lines, from which narrow loads are
            // forwarded. Types of 16 bits are narrowed to that width anyway.
            let staged = Staged(block);
            let source = match size_of::<T>() {
                2 => &staged,
                _ => black_box(&staged),
            };
            let source = &source.0[..to.len()];
            let source = source.as_ptr().cast::<__m128i>();
            for index in 0..bytes / 16 {
                // `to` is of a `Streamed`, which borrows the task's `Streaming`: that fences on this thread
                // before the task ends and anybody else reads.
                // SAFETY: both slices have `bytes` bytes, of which these 16 are the `index`th; behind the
                // aligned start they are aligned. Elements are plain numbers, copied as bytes. x86-64
                // has SSE2.
                unsafe { _mm_stream_si128(target.add(index), _mm_loadu_si128(source.add(index))) };
            }
            return;
        }
    }
    to.write_copy_of_slice(&block[..to.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_stores_what_a_copy_does_wherever_it_starts() {
        let block: [f32; BLOCK] = core::array::from_fn(|lane| lane as f32);
        for offset in 0..8 {
            for width in [0, 1, 4, 7, 31, 32] {
                let mut memory = alloc::vec![f32::NAN; 64];
                let target = &mut memory[offset..offset + width];
                // SAFETY: a slice of numbers may be seen as one of numbers that may be missing; only
                // numbers are written to it.
                let target = unsafe {
                    core::slice::from_raw_parts_mut(target.as_mut_ptr().cast(), target.len())
                };
                let stream = Streaming::when(true).unwrap();
                stream.to(target).store(0, width, block);
                drop(stream);
                assert_eq!(memory[offset..offset + width], block[..width]);
                assert!(memory[offset + width..].iter().all(|value| value.is_nan()));
                assert!(memory[..offset].iter().all(|value| value.is_nan()));
            }
        }
    }
}
