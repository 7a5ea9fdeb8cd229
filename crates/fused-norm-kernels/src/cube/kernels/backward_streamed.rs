//! Backward over rows that are read twice. With one lane a row, every unit keeps its sums of dgamma
//! and dbeta in a row of memory of its own, which stays in its cache. A cube walks over a block of
//! neighbouring rows, so that no sum has many terms.

use cubecl::prelude::*;

use super::group::sum_over_lanes;
use super::straddling::write_straddling;
use super::vectors::{is_read, parameter, straddling};
use crate::cube::{Blueprint, Reach};

/// Independent sums a lane.
const SUMS: usize = 4;
/// Rounds of `SUMS` vectors whose sums are added up apart.
const ROUNDS_A_SPAN: usize = 16;

#[cube(launch_unchecked, address_type = "dynamic")]
pub fn backward_streamed<T: Float, N: Size, S: Float, G: Float>(
    dy: &[Vector<T, N>],
    x: &[Vector<T, N>],
    rstds: &[S],
    gamma: ComptimeOption<&[Vector<G, N>]>,
    mut dx: ComptimeOption<&mut [Vector<T, N>]>,
    mut gamma_sums: ComptimeOption<&mut [Vector<S, N>]>,
    mut beta_sums: ComptimeOption<&mut [Vector<S, N>]>,
    rows: usize,
    rows_a_cube: usize,
    row_vectors: usize,
    dy_pitch: usize,
    x_pitch: usize,
    stat_len: usize,
    inverse_count: InputScalar,
    #[comptime] blueprint: Blueprint,
    #[comptime] reach: Reach,
    #[define(T)] _x_type: ElemType,
    #[define(S)] _statistic_type: ElemType,
    #[define(G)] _gamma_type: ElemType,
) {
    let groups = comptime!(blueprint.row_groups as usize);
    let lanes = comptime!(blueprint.lanes as usize);
    let lane = (UNIT_POS % blueprint.lanes) as usize;
    let group = (UNIT_POS / blueprint.lanes) as usize;
    let sums_start = (CUBE_POS_X as usize * groups + group) * row_vectors;
    clear(&mut gamma_sums, sums_start, lane, row_vectors, lanes);
    clear(&mut beta_sums, sums_start, lane, row_vectors, lanes);

    let mut first = CUBE_POS_X as usize * rows_a_cube;
    let end = min(first + rows_a_cube, rows);
    let mut turn = 0u32;
    while first < end {
        let row = first + group;
        let active = row < end;
        let source = select(active, row, end - 1);
        let dy_start = source * dy_pitch;
        let x_start = source * x_pitch;
        let rstd = Vector::<S, N>::new(rstds[source]);

        let mut correction = Vector::<S, N>::new(S::from_int(0));
        if comptime!(dx.is_some()) {
            let c = sum_products::<T, N, S, G>(
                dy,
                x,
                gamma,
                dy_start,
                x_start,
                lane,
                row_vectors,
                lanes,
            );
            let c = sum_over_lanes::<S>(c, turn, blueprint);
            correction = Vector::<S, N>::new(c * rstds[source] * inverse_count.get::<S>());
        }
        if active {
            let mut column = lane;
            while column < row_vectors {
                let dy_here = Vector::<S, N>::cast_from(dy[dy_start + column]);
                if comptime!(dx.is_some() || gamma_sums.is_some()) {
                    let normalised = Vector::<S, N>::cast_from(x[x_start + column]) * rstd;
                    #[comptime]
                    if let ComptimeOption::Some(sums) = gamma_sums.as_mut() {
                        sums[sums_start + column] += dy_here * normalised;
                    }
                    #[comptime]
                    if let ComptimeOption::Some(dx) = dx.as_mut() {
                        let mut scaled = dy_here;
                        if comptime!(gamma.is_some()) {
                            scaled *= parameter::<G, N, S>(gamma, 0, column, row_vectors, true, 1);
                        }
                        if is_read::<N>(column, stat_len, reach) {
                            scaled -= normalised * correction;
                        }
                        dx[source * row_vectors + column] = Vector::cast_from(rstd * scaled);
                    }
                }
                #[comptime]
                if let ComptimeOption::Some(sums) = beta_sums.as_mut() {
                    sums[sums_start + column] += dy_here;
                }
                column += lanes;
            }
        }
        if comptime!(reach == Reach::Elements && dx.is_some()) {
            let last = straddling::<N>(stat_len, row_vectors, blueprint.lanes);
            if active && last < row_vectors {
                let dx_start = source * row_vectors;
                write_straddling::<T, N, S, G>(
                    dy,
                    x,
                    gamma,
                    &mut dx,
                    dy_start,
                    x_start,
                    dx_start,
                    last,
                    row_vectors,
                    stat_len,
                    rstd,
                    correction,
                );
            }
        }
        first += groups;
        turn += 1;
    }
}

/// Zeros in this unit's vectors of its row of sums.
#[cube]
fn clear<S: Float, N: Size>(
    sums: &mut ComptimeOption<&mut [Vector<S, N>]>,
    start: usize,
    lane: usize,
    row_vectors: usize,
    #[comptime] lanes: usize,
) {
    #[comptime]
    if let ComptimeOption::Some(sums) = sums.as_mut() {
        let mut column = lane;
        while column < row_vectors {
            sums[start + column] = Vector::new(S::from_int(0));
            column += lanes;
        }
    }
}

/// The part of `c` that one lane reads: vectors `lane`, `lane + lanes`, and so on.
#[cube]
fn sum_products<T: Float, N: Size, S: Float, G: Float>(
    dy: &[Vector<T, N>],
    x: &[Vector<T, N>],
    gamma: ComptimeOption<&[Vector<G, N>]>,
    dy_start: usize,
    x_start: usize,
    lane: usize,
    row_vectors: usize,
    #[comptime] lanes: usize,
) -> S {
    let mut total = S::from_int(0);
    let mut column = lane;
    while column < row_vectors {
        let mut sums = Array::<Vector<S, N>>::new(SUMS);
        #[unroll]
        for sum in 0..SUMS {
            sums[sum] = Vector::new(S::from_int(0));
        }
        let span_end = min(
            column + comptime!(lanes * SUMS * ROUNDS_A_SPAN),
            row_vectors,
        );
        while column + comptime!(lanes * (SUMS - 1)) < span_end {
            #[unroll]
            for sum in 0..SUMS {
                let here = column + comptime!(sum * lanes);
                sums[sum] +=
                    product::<T, N, S, G>(dy, x, gamma, dy_start, x_start, here, row_vectors);
            }
            column += comptime!(lanes * SUMS);
        }
        while column < span_end {
            sums[0] += product::<T, N, S, G>(dy, x, gamma, dy_start, x_start, column, row_vectors);
            column += lanes;
        }
        total += ((sums[0] + sums[1]) + (sums[2] + sums[3])).vector_sum();
    }
    total
}

/// `dy · gamma · x` of one vector.
#[cube]
fn product<T: Float, N: Size, S: Float, G: Float>(
    dy: &[Vector<T, N>],
    x: &[Vector<T, N>],
    gamma: ComptimeOption<&[Vector<G, N>]>,
    dy_start: usize,
    x_start: usize,
    column: usize,
    row_vectors: usize,
) -> Vector<S, N> {
    let mut scaled = Vector::<S, N>::cast_from(dy[dy_start + column]);
    if comptime!(gamma.is_some()) {
        scaled *= parameter::<G, N, S>(gamma, 0, column, row_vectors, true, 1);
    }
    scaled * Vector::cast_from(x[x_start + column])
}
