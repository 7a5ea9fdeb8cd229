//! Rows that lie side by side: the normalised axis is not the last one.
//!
//! | file | question it answers |
//! |---|---|
//! | `tiles.rs` | which rows are worked on together, and where do their results go? |
//! | `forward.rs`, `backward.rs` | what is the entry, what does it check, who computes which rows? |

pub(in crate::cpu) mod backward;
pub(in crate::cpu) mod forward;
mod tiles;

pub use backward::interleaved_backward;
pub use forward::interleaved_forward;

use self::tiles::Tile;
use super::affine::check_length;
use super::row::Line;
use crate::{Error, Problem};

/// Where rows lie that are side by side in a buffer: with `inner` the product of the axes behind the
/// normalised one, element j of row `r = o·inner + i`, `0 ≤ i < inner`, is at `o·pitch + j·inner + i`.
///
/// A dense tensor `[outer, row_len, inner]` has a pitch of `row_len·inner`. A line of fewer
/// rows than 32 is worked on as one of 32, and takes the memory of one while it is kept.
#[derive(Debug, Clone, Copy)]
pub struct Interleaved<'a, T> {
    data: &'a [T],
    inner: usize,
    pitch: usize,
}

impl<'a, T> Interleaved<'a, T> {
    /// Groups of `inner` rows, whose starts are `pitch` elements apart.
    pub fn new(data: &'a [T], inner: usize, pitch: usize) -> Self {
        Self { data, inner, pitch }
    }

    /// How many rows lie side by side.
    pub fn inner(&self) -> usize {
        self.inner
    }

    fn check(&self, buffer: &'static str, problem: &Problem) -> Result<(), Error> {
        let rows = problem.rows();
        if !rows.is_multiple_of(self.inner) {
            let inner = self.inner;
            return Err(Error::Inner { inner, rows });
        }
        if problem.gamma_rows() != 1 {
            let gamma_rows = problem.gamma_rows();
            return Err(Error::GammaRowsSideBySide { gamma_rows });
        }
        if rows == 0 {
            return Ok(());
        }
        let last = rows / self.inner - 1;
        let needed = last
            .checked_mul(self.pitch)
            .and_then(|start| start.checked_add(problem.row_len() * self.inner))
            .ok_or(Error::TooLarge {
                rows,
                row_len: problem.row_len(),
            })?;
        if self.data.len() >= needed {
            Ok(())
        } else {
            check_length(buffer, needed, self.data.len())
        }
    }

    /// The elements j of a tile's rows, and what follows them in the buffer.
    #[inline(always)]
    fn line(&self, tile: Tile, j: usize) -> Line<'a, T> {
        Line {
            data: &self.data[tile.group * self.pitch + j * self.inner + tile.first..],
            width: tile.width,
            step: self.inner,
        }
    }

    /// Whether no two lines share a line of the caches, in memory that begins with one: one that is written past
    /// them should be written as a whole.
    fn has_whole_lines(&self) -> bool {
        (self.inner * size_of::<T>()).is_multiple_of(64)
    }
}
