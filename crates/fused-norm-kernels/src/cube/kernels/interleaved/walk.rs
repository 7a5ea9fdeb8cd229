//! Which rows a unit walks down, and with whom.

use cubecl::prelude::*;

use crate::cube::kernels::combine::total_for_all_groups;

/// The vector at which the rows of vector `position` start, where there are `inner` vectors of rows
/// side by side and `pitch` vectors from one such group of rows to the next.
#[cube]
pub(super) fn start_of(position: usize, inner: usize, pitch: usize) -> usize {
    (position / inner) * pitch + position % inner
}

/// The sum over the units that share a walk; each of them gets it. All units of the cube must call it.
#[cube]
pub(super) fn sum_of_walk<S: Float, N: Size>(
    sum: Vector<S, N>,
    #[comptime] lanes: u32,
    #[comptime] groups: u32,
) -> Vector<S, N> {
    if comptime!(groups > 1) {
        total_for_all_groups::<S, N>(sum, lanes, groups)
    } else {
        sum
    }
}
