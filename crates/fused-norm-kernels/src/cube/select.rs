//! Which routine a class of rows takes on a device: a pure function of both.

use super::routines::{Pass, prepare};
use super::{Blueprint, DeviceLimits, Routine};

/// What the mapping depends on: never on the number of rows, so that a row gives the same bits alone
/// and in any batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowClass {
    /// Elements of a row.
    pub row_len: usize,
    /// Bytes of an element of x.
    pub element_size: usize,
    /// Bytes of a number of the statistic's type.
    pub statistic_size: usize,
}

impl RowClass {
    /// Elements that one load moves: a power of two that divides the row, so that no load crosses
    /// its end.
    pub fn vector_size(&self, limits: &DeviceLimits) -> usize {
        let widest = (limits.load_bytes / self.element_size).min(limits.max_vector_size);
        let divisor = 1 << self.row_len.trailing_zeros();
        divisor.min(1 << widest.max(1).ilog2())
    }

    /// Vectors of a row.
    pub fn row_vectors(&self, limits: &DeviceLimits) -> usize {
        self.row_len / self.vector_size(limits)
    }
}

/// The blueprint of a class of rows: the first routine that can take it, from the one that moves
/// the fewest bytes to the one that always can.
pub fn select(class: &RowClass, pass: Pass, limits: &DeviceLimits) -> Blueprint {
    let order: &[Routine] = if limits.threads {
        &[Routine::Unit]
    } else {
        &[
            Routine::Plane,
            Routine::Cube,
            Routine::Looped,
            Routine::Unit,
        ]
    };
    order
        .iter()
        .find_map(|&routine| prepare(routine, class, pass, limits))
        .expect("a unit can always walk over a row")
}
