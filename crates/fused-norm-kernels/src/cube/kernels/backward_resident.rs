//! Backward over rows that the units of a cube can hold: dx, and one row of partial sums of dgamma
//! and dbeta a cube, in one walk over the rows.
//!
//! Where the registers are needed for the sums, x and dy are read again for the second phase, at
//! `zero_offset` from where they are. It is 0, but a compiler that knew would keep the first reading.

use cubecl::prelude::*;

use super::combine::sum_over_groups;
use super::group::sum_over_lanes;
use super::vectors::{column, keep_read, load, parameter};
use crate::cube::Blueprint;

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
    zero_offset: usize,
    #[comptime] blueprint: Blueprint,
    #[comptime] partial: bool,
    #[define(T)] _x_type: ElemType,
    #[define(S)] _statistic_type: ElemType,
    #[define(G)] _gamma_type: ElemType,
) {
    let exact = comptime!(blueprint.exact);
    let vectors = comptime!(blueprint.vectors);
    let groups = comptime!(blueprint.row_groups as usize);
    let hold = comptime!(blueprint.held);
    let mut zero_offset = zero_offset;
    if comptime!(hold) {
        zero_offset = 0;
    }
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
        let gamma_start = source * zero_offset;

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
            #[unroll]
            for step in 0..vectors {
                let column = column(step, blueprint);
                let (dy_here, x_here) = pair::<T, N, S>(
                    dy,
                    x,
                    &dys,
                    &xs,
                    dy_start,
                    x_start,
                    step,
                    row_vectors,
                    blueprint,
                );
                let mut scaled = dy_here;
                if comptime!(gamma.is_some()) {
                    scaled *=
                        parameter::<G, N, S>(gamma, gamma_start, column, row_vectors, exact, 1);
                }
                products += scaled * x_here;
            }
            let c = sum_over_lanes::<S>(products.vector_sum(), turn, blueprint);
            correction = Vector::<S, N>::new(c * rstds[source] * inverse_count.get::<S>());
        }

        let dy_again = dy_start + zero_offset;
        let x_again = x_start + zero_offset;
        let gamma_again = gamma_start + zero_offset;
        if active {
            #[unroll]
            for step in 0..vectors {
                let column = column(step, blueprint);
                let (dy_here, x_here) = pair::<T, N, S>(
                    dy,
                    x,
                    &dys,
                    &xs,
                    dy_again,
                    x_again,
                    step,
                    row_vectors,
                    blueprint,
                );
                let normalised = x_here * rstd;
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
                        scaled *=
                            parameter::<G, N, S>(gamma, gamma_again, column, row_vectors, exact, 1);
                    }
                    let read =
                        keep_read::<S, N>(normalised * correction, column, stat_len, partial);
                    let out = Vector::<T, N>::cast_from(rstd * (scaled - read));
                    if comptime!(exact) {
                        dx[source * row_vectors + column] = out;
                    } else if column < row_vectors {
                        dx[source * row_vectors + column] = out;
                    }
                }
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
