//! Rows held in registers: how many lanes share one, and how much each holds.

use super::Pass;
use crate::cube::{Blueprint, DeviceLimits, Routine, RowClass};

/// Neighbouring lanes that fill a cache line of 128 bytes with loads of 16: fewer would leave part
/// of it to another instruction.
const LINE_LANES: usize = 8;

/// What a lane may hold, and how many lanes may do so.
struct Budget {
    /// Bytes of a row as they are stored.
    stored: usize,
    /// Bytes of the same elements in the statistic's type, as which a GPU's compiler keeps them.
    computed: usize,
    /// Lanes up to which this budget is taken.
    max_lanes: u32,
    /// See [`Blueprint::held`].
    held: bool,
}

/// From the budget that leaves most room for other cubes to the one that takes the longest rows.
///
/// A forward lane holds its part of the row, and of gamma when `held`: up to 64 registers with the
/// first two budgets, up to 128 with the third. A backward lane holds dgamma and dbeta in the
/// statistic's type, and x and dy when `held`: up to 128, which is what 512 units may have each.
fn budgets(pass: Pass) -> &'static [Budget] {
    const fn budget(stored: usize, computed: usize, max_lanes: u32, held: bool) -> Budget {
        Budget {
            stored,
            computed,
            max_lanes,
            held,
        }
    }
    match pass {
        Pass::Forward => {
            &const {
                [
                    budget(64, 64, 256, true),
                    budget(128, 128, 256, false),
                    budget(128, 256, 512, false),
                ]
            }
        }
        Pass::Backward => &const { [budget(64, 64, 512, true), budget(128, 128, 512, false)] },
    }
}

/// Units of a cube that works on several rows.
fn units(pass: Pass, limits: &DeviceLimits) -> u32 {
    let units = match pass {
        Pass::Forward => 128,
        // Its partial sums are one row a cube: few large cubes.
        Pass::Backward => 256,
    };
    units.min(limits.max_units)
}

/// Several rows a cube, each on a plane or on part of one.
pub(super) fn plane(class: &RowClass, pass: Pass, limits: &DeviceLimits) -> Option<Blueprint> {
    let plane = class.plane_size(limits)?;
    let vectors = class.row_vectors(limits);
    let fewest = vectors.min(LINE_LANES).next_power_of_two() as u32;
    // Longer rows go to several planes: a backward plane keeps what it holds, and a forward plane
    // leaves room for as many others.
    let budgets = match pass {
        Pass::Forward => &budgets(pass)[..2],
        Pass::Backward => &budgets(pass)[..1],
    };
    budgets.iter().find_map(|budget| {
        let lanes = lanes(class, limits, budget, plane)?.next_power_of_two();
        let lanes = lanes.max(fewest);
        if lanes > plane {
            return None;
        }
        let row_groups = (units(pass, limits) / lanes).max(1);
        let blueprint = resident(
            class,
            limits,
            Routine::Plane,
            lanes,
            row_groups,
            lanes,
            budget,
        );
        Some(blueprint).filter(|blueprint| fits(blueprint, class, pass, limits))
    })
}

/// A row on several planes; without plane operations, on any number of units.
pub(super) fn cube(class: &RowClass, pass: Pass, limits: &DeviceLimits) -> Option<Blueprint> {
    let segment = class.plane_size(limits).unwrap_or(1);
    budgets(pass).iter().find_map(|budget| {
        let most = budget.max_lanes.min(limits.max_units);
        let lanes = lanes(class, limits, budget, most)?;
        let lanes = if segment > 1 {
            lanes.next_multiple_of(segment)
        } else {
            lanes.next_power_of_two()
        };
        if lanes > most {
            return None;
        }
        let row_groups = (units(pass, limits) / lanes).max(1);
        let blueprint = resident(
            class,
            limits,
            Routine::Cube,
            lanes,
            row_groups,
            segment,
            budget,
        );
        Some(blueprint).filter(|blueprint| fits(blueprint, class, pass, limits))
    })
}

/// Lanes that a row takes, if these are at most `most`: a row may need more than 32 bits can count.
fn lanes(class: &RowClass, limits: &DeviceLimits, budget: &Budget, most: u32) -> Option<u32> {
    let lanes = class
        .row_vectors(limits)
        .div_ceil(most_vectors(class, limits, budget));
    u32::try_from(lanes).ok().filter(|&lanes| lanes <= most)
}

/// Vectors of a row that a lane may hold, as many of every input. Short vectors cost an instruction
/// each: not more than 16.
fn most_vectors(class: &RowClass, limits: &DeviceLimits, budget: &Budget) -> usize {
    let size = class.vector_size(limits);
    let stored = budget.stored / (size * class.element_size);
    let computed = budget.computed / (size * class.statistic_size);
    (stored.min(computed) / class.inputs).clamp(1, 16)
}

fn resident(
    class: &RowClass,
    limits: &DeviceLimits,
    routine: Routine,
    lanes: u32,
    row_groups: u32,
    segment: u32,
    budget: &Budget,
) -> Blueprint {
    let row_vectors = class.row_vectors(limits);
    let vectors = row_vectors.div_ceil(lanes as usize);
    Blueprint {
        routine,
        vector_size: class.vector_size(limits),
        lanes,
        row_groups,
        segment,
        vectors: vectors as u32,
        exact: vectors * lanes as usize == row_vectors,
        held: budget.held,
    }
}

/// Sums over the lanes, and, backward, over the row groups, go through shared memory.
fn fits(blueprint: &Blueprint, class: &RowClass, pass: Pass, limits: &DeviceLimits) -> bool {
    let sums = blueprint.shared_bytes(class.statistic_size);
    let groups = match pass {
        Pass::Backward if blueprint.row_groups > 1 => {
            // One for dgamma and one for dbeta.
            2 * blueprint.units() as usize * blueprint.vector_size * class.statistic_size
        }
        _ => 0,
    };
    sums + groups <= limits.max_shared_memory
}
