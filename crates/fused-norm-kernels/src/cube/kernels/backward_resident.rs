//! Backward over rows that the units of a cube can hold: dx, and one row of partial sums of dgamma
//! and dbeta a cube, in one walk over the rows.
//!
//! Where the registers are needed for the sums, x and dy are read again for the second phase, from the
//! cache, and one vector after the other.

use cubecl::prelude::*;

use super::combine::sum_over_groups;
use super::group::sum_over_lanes;
use super::straddling::write_straddling;
use super::vectors::{
    column, hidden_zero, hidden_zero_after, is_read, load, parameter, straddling,
};
use crate::cube::{Blueprint, Reach};

/// Elements that a lane loads at a time in the first phase where it holds none: as many as hide the
/// latency of the memory and leave the registers to the sums.
const PHASE_ONE_AT_A_TIME: usize = 8;

#[cube(launch_unchecked, address_type = "dynamic")]
pub fn backward_resident<T: Float, N: Size, S: Float, G: Float>(
    dy: &[Vector<T, N>],
    x: &[Vector<T, N>],
    rstds: &[S],
    gamma: ComptimeOption<&[Vector<G, N>]>,
    mut dx: ComptimeOption<&mut [Vector<T, N>]>,
    mut gamma_sums: ComptimeOption<&mut [Vector<S, N>]>,
    mut beta_sums: ComptimeOption<&mut [Vector<S, N>]>,
    rows: usize,
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
    let exact = comptime!(blueprint.exact);
    let vectors = comptime!(blueprint.vectors);
    let groups = comptime!(blueprint.row_groups as usize);
    let hold = comptime!(blueprint.held);
    let inverse_count = inverse_count.get::<S>();
    let mut hidden = 0usize;
    if comptime!(!hold) {
        hidden = hidden_zero::<S>(inverse_count);
    }
    let size = N::value();
    let with_dx = comptime!(dx.is_some());
    let with_gamma = comptime!(gamma_sums.is_some());
    let with_beta = comptime!(beta_sums.is_some());
    let with_x = comptime!(with_dx || with_gamma);
    let zero = Vector::<S, N>::new(S::from_int(0));

    let mut gamma_acc =
        Array::<Vector<S, N>>::new(comptime!(if with_gamma { vectors as usize } else { 1 }));
    let mut beta_acc =
        Array::<Vector<S, N>>::new(comptime!(if with_beta { vectors as usize } else { 1 }));
    #[unroll]
    for step in 0..vectors {
        if comptime!(with_gamma) {
            gamma_acc[step as usize] = zero;
        }
        if comptime!(with_beta) {
            beta_acc[step as usize] = zero;
        }
    }

    let mut first = CUBE_POS_X as usize * groups;
    let mut turn = 0u32;
    while first < rows {
        let row = first + (UNIT_POS / blueprint.lanes) as usize;
        let active = row < rows;
        // Groups beyond the last row repeat it, as all units must take part in the sum.
        let source = select(active, row, rows - 1);
        let dy_start = source * dy_pitch;
        let x_start = source * x_pitch;
        let rstd = Vector::<S, N>::new(rstds[source]);
        // Not held: nor is gamma, from one phase or row to the next.
        let gamma_start = source * hidden;

        let held = comptime!(if hold { vectors as usize } else { 1 });
        let mut dys = Array::<Vector<T, N>>::new(held);
        let mut xs = Array::<Vector<T, N>>::new(held);
        if comptime!(hold) {
            #[unroll]
            for step in 0..vectors {
                let column = column(step, blueprint);
                dys[step as usize] = load::<T, N>(dy, dy_start, column, row_vectors, exact);
                if comptime!(with_x) {
                    xs[step as usize] = load::<T, N>(x, x_start, column, row_vectors, exact);
                }
            }
        }

        // (c·rstd)/k of the row.
        let mut correction = zero;
        if comptime!(with_dx) {
            let mut products = zero;
            let mut waiting = 0usize;
            #[unroll]
            for step in 0..vectors {
                let column = column(step, blueprint);
                let (dy_here, x_here) = pair::<T, N, S>(
                    dy,
                    x,
                    &dys,
                    &xs,
                    dy_start + waiting,
                    x_start + waiting,
                    step,
                    row_vectors,
                    blueprint,
                );
                let mut scaled = dy_here;
                if comptime!(gamma.is_some()) {
                    scaled *= parameter::<G, N, S>(
                        gamma,
                        gamma_start + waiting,
                        column,
                        row_vectors,
                        exact,
                        1,
                    );
                }
                products += scaled * x_here;
                if comptime!(!hold && (step as usize + 1) * size % PHASE_ONE_AT_A_TIME == 0) {
                    waiting = hidden_zero_after::<S, N>(products, hidden);
                }
            }
            let c = sum_over_lanes::<S>(products.vector_sum(), turn, blueprint);
            correction = Vector::<S, N>::new(c * rstds[source] * inverse_count);
        }

        let mut again = hidden;
        if active {
            #[unroll]
            for step in 0..vectors {
                let column = column(step, blueprint);
                let (dy_here, x_here) = pair::<T, N, S>(
                    dy,
                    x,
                    &dys,
                    &xs,
                    dy_start + again,
                    x_start + again,
                    step,
                    row_vectors,
                    blueprint,
                );
                let normalised = x_here * rstd;
                again = hidden_zero_after::<S, N>(normalised, hidden);
                if comptime!(with_gamma) {
                    gamma_acc[step as usize] += dy_here * normalised;
                }
                if comptime!(with_beta) {
                    beta_acc[step as usize] += dy_here;
                }
                #[comptime]
                if let ComptimeOption::Some(dx) = dx.as_mut() {
                    let mut scaled = dy_here;
                    if comptime!(gamma.is_some()) {
                        scaled *= parameter::<G, N, S>(
                            gamma,
                            gamma_start + again,
                            column,
                            row_vectors,
                            exact,
                            1,
                        );
                    }
                    if is_read::<N>(column, stat_len, reach) {
                        scaled -= normalised * correction;
                    }
                    let out = Vector::<T, N>::cast_from(rstd * scaled);
                    if comptime!(exact) {
                        dx[source * row_vectors + column] = out;
                    } else if column < row_vectors {
                        dx[source * row_vectors + column] = out;
                    }
                }
            }
        }
        if comptime!(reach == Reach::Elements && with_dx) {
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
        first += CUBE_COUNT_X as usize * groups;
        turn += 1;
    }

    write_sums::<S, N>(&gamma_acc, &mut gamma_sums, row_vectors, blueprint);
    write_sums::<S, N>(&beta_acc, &mut beta_sums, row_vectors, blueprint);
}

/// Vector `step` of this lane, of dy and of x: held, or read again.
#[cube]
fn pair<T: Float, N: Size, S: Float>(
    dy: &[Vector<T, N>],
    x: &[Vector<T, N>],
    dys: &Array<Vector<T, N>>,
    xs: &Array<Vector<T, N>>,
    dy_start: usize,
    x_start: usize,
    step: u32,
    row_vectors: usize,
    #[comptime] blueprint: Blueprint,
) -> (Vector<S, N>, Vector<S, N>) {
    if comptime!(blueprint.held) {
        (
            Vector::<S, N>::cast_from(dys[step as usize]),
            Vector::<S, N>::cast_from(xs[step as usize]),
        )
    } else {
        let column = column(step, blueprint);
        let exact = comptime!(blueprint.exact);
        (
            Vector::<S, N>::cast_from(load::<T, N>(dy, dy_start, column, row_vectors, exact)),
            Vector::<S, N>::cast_from(load::<T, N>(x, x_start, column, row_vectors, exact)),
        )
    }
}

/// Adds the sums of the cube's row groups and writes them as partial row `CUBE_POS_X`.
#[cube]
fn write_sums<S: Float, N: Size>(
    acc: &Array<Vector<S, N>>,
    sums: &mut ComptimeOption<&mut [Vector<S, N>]>,
    row_vectors: usize,
    #[comptime] blueprint: Blueprint,
) {
    #[comptime]
    if let ComptimeOption::Some(sums) = sums.as_mut() {
        let start = CUBE_POS_X as usize * row_vectors;
        let lanes = comptime!(blueprint.lanes);
        let groups = comptime!(blueprint.row_groups);
        if comptime!(groups > 1) {
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
