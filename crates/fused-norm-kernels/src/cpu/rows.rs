use super::affine::check_length;
use crate::{Error, Problem};

/// Where the rows lie in a buffer: row `i` starts at `i·pitch`, its elements are neighbours.
///
/// A dense matrix has a pitch of `row_len`, a slice of a wider one a larger pitch, rows that repeat
/// (a broadcast) a pitch of 0, and overlapping windows one below `row_len`.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a, T> {
    data: &'a [T],
    pitch: usize,
}

impl<'a, T> Rows<'a, T> {
    /// Rows of `row_len` elements one after the other.
    pub fn dense(data: &'a [T], row_len: usize) -> Self {
        Self {
            data,
            pitch: row_len,
        }
    }

    /// Rows whose starts are `pitch` elements apart.
    pub fn with_pitch(data: &'a [T], pitch: usize) -> Self {
        Self { data, pitch }
    }

    pub(super) fn check(&self, buffer: &'static str, problem: &Problem) -> Result<(), Error> {
        let Some(last) = problem.rows().checked_sub(1) else {
            return Ok(());
        };
        let needed = last
            .checked_mul(self.pitch)
            .and_then(|start| start.checked_add(problem.row_len()))
            .ok_or(Error::TooLarge {
                rows: problem.rows(),
                row_len: problem.row_len(),
            })?;
        if self.data.len() >= needed {
            Ok(())
        } else {
            check_length(buffer, needed, self.data.len())
        }
    }

    /// Whether the next row begins where this one ends.
    #[inline(always)]
    pub(super) fn are_dense(&self, row_len: usize) -> bool {
        self.pitch == row_len
    }

    #[inline(always)]
    pub(super) fn row(&self, index: usize, row_len: usize) -> &'a [T] {
        let start = index * self.pitch;
        &self.data[start..start + row_len]
    }
}
