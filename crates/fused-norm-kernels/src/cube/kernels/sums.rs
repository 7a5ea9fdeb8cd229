//! Partial sums of dgamma and dbeta, in memory.

use cubecl::prelude::*;

use super::combine::sum_over_groups;
use super::vectors::column;
use crate::cube::{Blueprint, Form};

/// Adds the sums of the cube's row groups and writes them as partial row `CUBE_POS_X`. Where rows
/// take turns in several rows of gamma, every group has met one of them only, and writes a partial row
/// of its own.
#[cube]
pub(super) fn write_sums<S: Float, N: Size>(
    acc: &Array<Vector<S, N>>,
    sums: &mut ComptimeOption<&mut [Vector<S, N>]>,
    row_vectors: usize,
    #[comptime] blueprint: Blueprint,
    #[comptime] form: Form,
) {
    #[comptime]
    if let ComptimeOption::Some(sums) = sums.as_mut() {
        let lanes = comptime!(blueprint.lanes);
        let groups = comptime!(blueprint.row_groups);
        if comptime!(groups > 1 && !form.periodic) {
            let start = CUBE_POS_X as usize * row_vectors;
            let units = comptime!(blueprint.units() as usize);
            let mut shared = Shared::<[Vector<S, N>]>::new_slice(units);
            #[unroll]
            for step in 0..comptime!(blueprint.vectors) {
                let total = sum_over_groups::<S, N>(acc[step as usize], &mut shared, lanes, groups);
                let column = column(step, blueprint);
                if UNIT_POS < lanes && column < row_vectors {
                    sums[start + column] = total;
                }
            }
        } else {
            let mut partial_row = CUBE_POS_X as usize;
            if comptime!(groups > 1) {
                partial_row = partial_row * comptime!(groups as usize)
                    + (UNIT_POS / blueprint.lanes) as usize;
            }
            let start = partial_row * row_vectors;
            #[unroll]
            for step in 0..comptime!(blueprint.vectors) {
                let column = column(step, blueprint);
                if column < row_vectors {
                    sums[start + column] = acc[step as usize];
                }
            }
        }
    }
}

/// Zeros in this unit's vectors of its row of sums, of `len` vectors.
#[cube]
pub(super) fn clear<S: Float, N: Size>(
    sums: &mut ComptimeOption<&mut [Vector<S, N>]>,
    start: usize,
    lane: usize,
    len: usize,
    #[comptime] lanes: usize,
) {
    #[comptime]
    if let ComptimeOption::Some(sums) = sums.as_mut() {
        let mut column = lane;
        while column < len {
            sums[start + column] = Vector::new(S::from_int(0));
            column += lanes;
        }
    }
}
