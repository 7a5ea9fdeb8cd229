//! dgamma and dbeta of rows side by side: element j of all rows is a column, summed by a cube.

use cubecl::prelude::*;

use super::walk::start_of;
use super::{AT_A_TIME, ROUNDS_A_SPAN};
use crate::cube::Blueprint;
use crate::cube::kernels::group::sum_over_lanes;
use crate::cube::kernels::vectors::sum_of;

/// The blueprint's lanes share a column, and take neighbouring vectors of its `positions`; every row
/// group has a column of its own.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn parameters_interleaved<T: Float, N: Size, S: Float, G: Float, B: Float>(
    dy: &[Vector<T, N>],
    x: &[Vector<T, N>],
    rstds: &[Vector<S, N>],
    mut dgamma: ComptimeOption<&mut [G]>,
    mut dbeta: ComptimeOption<&mut [B]>,
    positions: usize,
    inner: usize,
    dy_pitch: usize,
    x_pitch: usize,
    row_len: usize,
    #[comptime] blueprint: Blueprint,
    #[define(T)] _x_type: ElemType,
    #[define(S)] _statistic_type: ElemType,
    #[define(G)] _gamma_type: ElemType,
    #[define(B)] _beta_type: ElemType,
) {
    let with_gamma = comptime!(dgamma.is_some());
    let with_beta = comptime!(dbeta.is_some());
    let groups = comptime!(blueprint.row_groups as usize);
    let lane = (UNIT_POS % blueprint.lanes) as usize;
    let mut first = CUBE_POS_X as usize * groups;
    let mut turn = 0u32;
    while first < row_len {
        let column = first + (UNIT_POS / blueprint.lanes) as usize;
        // Groups beyond the last column repeat it, as all units must take part in the sum.
        let element = select(column < row_len, column, row_len - 1);
        let (gamma_sum, beta_sum) = sums::<T, N, S>(
            dy,
            x,
            rstds,
            element * inner,
            lane,
            positions,
            inner,
            dy_pitch,
            x_pitch,
            with_gamma,
            with_beta,
            blueprint,
        );
        #[comptime]
        if let ComptimeOption::Some(dgamma) = dgamma.as_mut() {
            let total = sum_over_lanes::<S>(gamma_sum, turn, blueprint);
            if lane == 0 && column < row_len {
                dgamma[column] = G::cast_from(total);
            }
        }
        if comptime!(with_gamma && with_beta && blueprint.partials() > 1) {
            // The two sums may go through the same shared memory.
            sync_cube();
        }
        #[comptime]
        if let ComptimeOption::Some(dbeta) = dbeta.as_mut() {
            let total = sum_over_lanes::<S>(beta_sum, turn, blueprint);
            if lane == 0 && column < row_len {
                dbeta[column] = B::cast_from(total);
            }
        }
        first += CUBE_COUNT_X as usize * groups;
        turn += 1;
    }
}

/// What one lane adds up of the column that is `at` vectors below the first element: for dgamma and
/// for dbeta. A span of positions at a time, so that no sum has many terms.
#[cube]
fn sums<T: Float, N: Size, S: Float>(
    dy: &[Vector<T, N>],
    x: &[Vector<T, N>],
    rstds: &[Vector<S, N>],
    at: usize,
    lane: usize,
    positions: usize,
    inner: usize,
    dy_pitch: usize,
    x_pitch: usize,
    #[comptime] with_gamma: bool,
    #[comptime] with_beta: bool,
    #[comptime] blueprint: Blueprint,
) -> (S, S) {
    let lanes = comptime!(blueprint.lanes as usize);
    let zero = Vector::<S, N>::new(S::from_int(0));
    let mut gamma_total = S::from_int(0);
    let mut beta_total = S::from_int(0);
    let mut position = lane;
    while position < positions {
        let mut gamma_sum = zero;
        let mut beta_sum = zero;
        let span_end = min(
            position + comptime!(lanes * AT_A_TIME * ROUNDS_A_SPAN),
            positions,
        );
        while position < span_end {
            let dy_here = Vector::<S, N>::cast_from(dy[start_of(position, inner, dy_pitch) + at]);
            if comptime!(with_gamma) {
                let x_here = Vector::<S, N>::cast_from(x[start_of(position, inner, x_pitch) + at]);
                gamma_sum += dy_here * (x_here * rstds[position]);
            }
            if comptime!(with_beta) {
                beta_sum += dy_here;
            }
            position += lanes;
        }
        gamma_total += sum_of::<S, N>(gamma_sum);
        beta_total += sum_of::<S, N>(beta_sum);
    }
    (gamma_total, beta_total)
}
