//! Which routine a class of rows takes on a device: a pure function of both.

use cubecl::client::Client;

use super::routines::{Pass, prepare};
use super::{Blueprint, DeviceLimits, Routine};

/// Departures from what [`select`] would choose for the device: for tests and measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mapping {
    /// Take this routine instead of the selected one.
    pub routine: Option<Routine>,
    /// Stay within these limits, where they are narrower than the device's.
    pub limits: Option<DeviceLimits>,
}

impl Mapping {
    /// The limits of the device, or those asked for where they are narrower.
    pub fn limits_on(&self, client: &Client) -> DeviceLimits {
        let device = DeviceLimits::of(client.properties());
        match &self.limits {
            None => device,
            Some(narrower) => device.within(narrower),
        }
    }
}

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
    /// Rows that are read for a row of y: what registers hold is shared among them.
    pub inputs: usize,
}

impl RowClass {
    /// The same rows, as one of so many inputs.
    pub fn with_inputs(self, inputs: usize) -> Self {
        Self { inputs, ..self }
    }

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

    /// Lanes whose sums a plane operation can exchange: shuffles move 32 bits, so that sums in f64 go
    /// through shared memory.
    pub(super) fn plane_size(&self, limits: &DeviceLimits) -> Option<u32> {
        limits
            .plane_size
            .filter(|&size| self.statistic_size == 4 && size <= limits.max_units)
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
