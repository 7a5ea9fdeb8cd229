//! Sums over the lanes that share a row.

use cubecl::prelude::*;

use crate::cube::Blueprint;

/// The sum of `value` over the lanes of a row, in an order that the blueprint fixes; every lane
/// gets it. All units of the cube must call it, with the same `turn`, which counts the rounds: between two
/// calls of the same parity lies another synchronisation.
#[cube]
pub(super) fn sum_over_lanes<S: Float>(value: S, turn: u32, #[comptime] blueprint: Blueprint) -> S {
    let mut sums = Array::<S>::new(1usize);
    sums[0] = value;
    sums_over_lanes::<S>(&mut sums, turn, 1usize, blueprint);
    sums[0]
}

/// The same of `count` values at once.
#[cube]
pub(super) fn sums_over_lanes<S: Float>(
    sums: &mut Array<S>,
    turn: u32,
    #[comptime] count: usize,
    #[comptime] blueprint: Blueprint,
) {
    if comptime!(blueprint.segment > 1) {
        #[unroll]
        for step in 0..comptime!(blueprint.segment.ilog2()) {
            let distance = comptime!(blueprint.segment >> (step + 1));
            #[unroll]
            for sum in 0..count {
                let here = sums[sum];
                sums[sum] = here + plane_shuffle_xor(here, distance);
            }
        }
    }
    if comptime!(blueprint.partials() > 1) {
        sum_over_segments::<S>(sums, turn, count, blueprint);
    }
}

/// Two halves of shared memory take turns, so that no unit writes what another still reads: between
/// two uses of a half lies the synchronisation of the other's.
#[cube]
fn sum_over_segments<S: Float>(
    sums: &mut Array<S>,
    turn: u32,
    #[comptime] count: usize,
    #[comptime] blueprint: Blueprint,
) {
    let partials = comptime!(blueprint.partials());
    // Partial sums of one of the values, over all rows of the cube.
    let of_one = comptime!(partials * blueprint.row_groups);
    let half = comptime!(of_one * count as u32);
    let mut shared = Shared::<[S]>::new_slice(comptime!(2 * half as usize));
    let lane = UNIT_POS % blueprint.lanes;
    let first = (turn % 2) * half + (UNIT_POS / blueprint.lanes) * partials;
    if lane % blueprint.segment == 0 {
        #[unroll]
        for sum in 0..count {
            let start = first + comptime!(sum as u32 * of_one);
            shared[(start + lane / blueprint.segment) as usize] = sums[sum];
        }
    }
    sync_cube();
    if comptime!(partials > LINEAR_UP_TO) {
        #[unroll]
        for step in 0..comptime!(partials.next_power_of_two().ilog2()) {
            let width = comptime!(partials.div_ceil(1 << step));
            let half_width = comptime!(partials.div_ceil(2 << step));
            if lane + half_width < width {
                #[unroll]
                for sum in 0..count {
                    let start = first + comptime!(sum as u32 * of_one);
                    let upper = shared[(start + lane + half_width) as usize];
                    shared[(start + lane) as usize] += upper;
                }
            }
            sync_cube();
        }
    }
    #[unroll]
    for sum in 0..count {
        let start = first + comptime!(sum as u32 * of_one);
        let mut total = shared[start as usize];
        if comptime!(partials <= LINEAR_UP_TO) {
            #[unroll]
            for partial in 1..partials {
                total += shared[(start + partial) as usize];
            }
        }
        sums[sum] = total;
    }
}

/// Up to this many sums, every unit adds all of them, after one synchronisation; more are added in
/// a tree, with one a level.
const LINEAR_UP_TO: u32 = 32;
