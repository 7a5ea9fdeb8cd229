//! Rows too long for the registers of a cube.

use crate::cube::{Blueprint, DeviceLimits, Routine, RowClass};

/// Units a row: each reads at least a few vectors of a row that no registers hold.
const UNITS: u32 = 512;

/// A row a cube, walked over twice.
pub(super) fn prepare(class: &RowClass, limits: &DeviceLimits) -> Option<Blueprint> {
    let segment = class.plane_size(limits).unwrap_or(1);
    let most = UNITS.min(limits.max_units);
    let needed = class.row_vectors(limits).min(most as usize) as u32;
    let lanes = needed
        .next_multiple_of(segment)
        .min(most / segment * segment);
    let blueprint = Blueprint {
        routine: Routine::Looped,
        vector_size: class.vector_size(limits),
        lanes,
        row_groups: 1,
        segment,
        vectors: 0,
        exact: false,
        held: false,
    };
    Some(blueprint).filter(|blueprint| {
        blueprint.shared_bytes(class.statistic_size) <= limits.max_shared_memory
    })
}
