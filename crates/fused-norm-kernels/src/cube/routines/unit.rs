//! A row a unit: no exchange between units at all.

use crate::cube::{Blueprint, DeviceLimits, Routine, RowClass};

/// Units of a cube where they are not CPU threads.
const UNITS: u32 = 64;

/// Threads take all units that there are.
pub(super) fn prepare(class: &RowClass, limits: &DeviceLimits) -> Blueprint {
    let units = if limits.threads {
        limits.max_units
    } else {
        UNITS.min(limits.max_units)
    };
    Blueprint {
        routine: Routine::Unit,
        vector_size: class.vector_size(limits),
        lanes: 1,
        row_groups: units,
        segment: 1,
        vectors: 0,
        exact: false,
        held: false,
    }
}
