//! Sums over the lanes that share a row.

use cubecl::prelude::*;

use crate::cube::Blueprint;

/// The sum of `value` over the lanes of a row, in an order that the blueprint fixes; every lane
/// gets it. All units of the cube must call it, with the same `turn`, which counts the calls.
#[cube]
pub(super) fn sum_over_lanes<S: Float>(value: S, turn: u32, #[comptime] blueprint: Blueprint) -> S {
    let mut sum = value;
    if comptime!(blueprint.segment > 1) {
        #[unroll]
        for step in 0..comptime!(blueprint.segment.ilog2()) {
            let distance = comptime!(blueprint.segment >> (step + 1));
            sum += plane_shuffle_xor(sum, distance);
        }
    }
    if comptime!(blueprint.partials() > 1) {
        sum = sum_over_segments::<S>(sum, turn, blueprint);
    }
    sum
}

/// Two halves of shared memory take turns, so that no unit writes what another still reads: between
/// two uses of a half lies the synchronisation of the other's.
#[cube]
fn sum_over_segments<S: Float>(sum: S, turn: u32, #[comptime] blueprint: Blueprint) -> S {
    let partials = comptime!(blueprint.partials());
    let half = comptime!(partials * blueprint.row_groups);
    let mut shared = Shared::<[S]>::new_slice(comptime!(2 * half as usize));
    let lane = UNIT_POS % blueprint.lanes;
    let first = (turn % 2) * half + (UNIT_POS / blueprint.lanes) * partials;
    if lane % blueprint.segment == 0 {
        shared[(first + lane / blueprint.segment) as usize] = sum;
    }
    sync_cube();
    if comptime!(partials <= LINEAR_UP_TO) {
        let mut total = shared[first as usize];
        #[unroll]
        for partial in 1..partials {
            total += shared[(first + partial) as usize];
        }
        total
    } else {
        #[unroll]
        for step in 0..comptime!(partials.next_power_of_two().ilog2()) {
            let width = comptime!(partials.div_ceil(1 << step));
            let half_width = comptime!(partials.div_ceil(2 << step));
            if lane + half_width < width {
                let upper = shared[(first + lane + half_width) as usize];
                shared[(first + lane) as usize] += upper;
            }
            sync_cube();
        }
        shared[first as usize]
    }
}

/// Up to this many sums, every unit adds all of them, after one synchronisation; more are added in
/// a tree, with one a level.
const LINEAR_UP_TO: u32 = 32;
