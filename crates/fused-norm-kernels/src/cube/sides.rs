//! How rows that lie side by side are shared among units.

use cubecl::ir::ElemType;

use super::types::{row_class, statistic_type};
use super::{Blueprint, DeviceLimits, Routine};
use crate::Problem;

/// Units of a cube.
const UNITS: u32 = 256;
/// Units that share the walk down a row, at most, and elements that each of them has at least.
const WALKERS: usize = 8;
const ELEMENTS_A_WALKER: usize = 4;

/// The mapping of rows side by side. Whatever depends on the batch, or on where rows lie, is in
/// `vector_size` and the numbers of cubes, on which the bits of y and dx do not depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sides {
    /// Neighbouring rows that one load or store moves an element of.
    pub vector_size: usize,
    /// Neighbouring vectors of rows that a cube walks down.
    pub lanes: u32,
    /// Units that share a walk.
    pub groups: u32,
    /// Cubes that do so.
    pub cubes: u32,
    /// How a column is summed: its lanes are units, whose sums are exchanged.
    pub column: Blueprint,
    /// Cubes that do so.
    pub column_cubes: u32,
}

impl Sides {
    /// For `inner` rows side by side, in groups at these distances.
    pub fn new(
        problem: &Problem,
        x: ElemType,
        inner: usize,
        pitches: &[usize],
        limits: &DeviceLimits,
    ) -> Self {
        let statistic_size = statistic_type(x).size();
        // A power of two divides all of them where it divides their bits' union.
        let union = pitches.iter().fold(inner, |union, pitch| union | pitch);
        let vector_size = row_class(union.max(1), x).vector_size(limits);
        let positions = problem.rows() / vector_size;
        // The widest vector counts, as the bits of a row must not depend on it.
        let widest = row_class(1 << 30, x).vector_size(limits);
        let (lanes, groups) = walkers(problem.row_len(), widest * statistic_size, limits);
        let column = column(vector_size, statistic_size, limits);
        let most = if limits.threads { 1 } else { limits.max_cubes };
        let cubes = |needed: usize| needed.min(most as usize) as u32;
        Self {
            vector_size,
            lanes,
            groups,
            cubes: cubes(positions.div_ceil(lanes as usize)),
            column,
            column_cubes: cubes(column.cubes(problem.row_len())),
        }
    }

    /// Units of a cube that walks down rows.
    pub fn units(&self) -> u32 {
        self.lanes * self.groups
    }
}

/// Lanes and groups of a cube: threads share nothing, nor do units whose sums fit no shared memory.
fn walkers(row_len: usize, sum_size: usize, limits: &DeviceLimits) -> (u32, u32) {
    if limits.threads {
        return (limits.max_units, 1);
    }
    let units = 1 << UNITS.min(limits.max_units).ilog2();
    let wanted = (row_len / ELEMENTS_A_WALKER).clamp(1, WALKERS);
    let groups = (1 << wanted.ilog2()).min(units);
    if units as usize * sum_size <= limits.max_shared_memory {
        (units / groups, groups)
    } else {
        (units, 1)
    }
}

fn column(vector_size: usize, statistic_size: usize, limits: &DeviceLimits) -> Blueprint {
    let segment = limits
        .plane_size
        .filter(|&size| statistic_size == 4 && size <= limits.max_units)
        .unwrap_or(1);
    let blueprint = |lanes: u32, row_groups: u32| Blueprint {
        routine: Routine::Looped,
        vector_size,
        lanes,
        row_groups,
        segment,
        vectors: 0,
        exact: false,
        held: false,
    };
    if limits.threads {
        return blueprint(1, limits.max_units);
    }
    let units = UNITS.min(limits.max_units) / segment * segment;
    let shared = blueprint(units, 1);
    if shared.shared_bytes(statistic_size) <= limits.max_shared_memory {
        shared
    } else {
        blueprint(segment, 1)
    }
}
