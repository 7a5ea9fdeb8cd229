//! Sums of vectors over the row groups of a cube, and over many parts.

use cubecl::prelude::*;

/// A sum and what its additions have lost, with one more part (Kahan 1965).
#[cube]
pub(super) fn with_part<S: Float, N: Size>(
    sum: Vector<S, N>,
    lost: Vector<S, N>,
    part: Vector<S, N>,
) -> (Vector<S, N>, Vector<S, N>) {
    let part = part - lost;
    let with_part = sum + part;
    (with_part, (with_part - sum) - part)
}

/// The sum of `value` over the units `lane`, `lane + lanes`, … of the cube, added in that order;
/// only units below `lanes` get it. All units of the cube must call it.
#[cube]
pub(super) fn sum_over_groups<S: Float, N: Size>(
    value: Vector<S, N>,
    shared: &mut Shared<[Vector<S, N>]>,
    #[comptime] lanes: u32,
    #[comptime] groups: u32,
) -> Vector<S, N> {
    let mut total = value;
    shared[UNIT_POS as usize] = value;
    sync_cube();
    if UNIT_POS < lanes {
        for group in 1..groups {
            total += shared[(group * lanes + UNIT_POS) as usize];
        }
    }
    // Before the next call writes.
    sync_cube();
    total
}

/// `sum_over_groups` through shared memory of its own; none where there is one group.
#[cube]
pub(super) fn total_of_groups<S: Float, N: Size>(
    value: Vector<S, N>,
    #[comptime] lanes: u32,
    #[comptime] groups: u32,
) -> Vector<S, N> {
    if comptime!(groups > 1) {
        let mut shared = Shared::<[Vector<S, N>]>::new_slice(comptime!((lanes * groups) as usize));
        sum_over_groups::<S, N>(value, &mut shared, lanes, groups)
    } else {
        value
    }
}

/// The sum of `value` over the units `lane`, `lane + lanes`, … of the cube, added in that order; all of
/// them get it. All units of the cube must call it.
#[cube]
pub(super) fn total_for_all_groups<S: Float, N: Size>(
    value: Vector<S, N>,
    #[comptime] lanes: u32,
    #[comptime] groups: u32,
) -> Vector<S, N> {
    let mut shared = Shared::<[Vector<S, N>]>::new_slice(comptime!((lanes * groups) as usize));
    shared[UNIT_POS as usize] = value;
    sync_cube();
    let lane = UNIT_POS % lanes;
    let mut total = shared[lane as usize];
    for group in 1..groups {
        total += shared[(group * lanes + lane) as usize];
    }
    // Before the next call writes.
    sync_cube();
    total
}
