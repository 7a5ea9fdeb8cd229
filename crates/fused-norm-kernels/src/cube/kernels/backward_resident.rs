//! Backward over rows that the units of a cube can hold: dx, dgate, and partial sums of dgamma and
//! dbeta, in one walk over the rows.
//!
//! Where the registers are needed for the sums, the rows are read again for the second phase, from the
//! cache, and one vector after the other.

use cubecl::prelude::*;

use super::affine::{factor, parameter, parameter_start};
use super::gate::{around_norm, dgate_of, dx_of};
use super::group::sum_over_lanes;
use super::inputs::inputs;
use super::operand::load_operand;
use super::straddling::write_straddling;
use super::sums::write_sums;
use super::vectors::{
    column, hidden_zero, hidden_zero_after, is_read, keep_read, load, straddling, sum_of,
};
use crate::cube::{Blueprint, Form, Reach};

/// Elements that a lane loads at a time in the first phase where it holds none: as many as hide the
/// latency of the memory and leave the registers to the sums.
const PHASE_ONE_AT_A_TIME: usize = 8;

#[cube(launch_unchecked, address_type = "dynamic")]
pub fn backward_resident<T: Float, N: Size, S: Float, G: Float, B: Float>(
    dy: &[Vector<T, N>],
    x: &[Vector<T, N>],
    gate: ComptimeOption<&[Vector<T, N>]>,
    rstds: &[S],
    gamma: ComptimeOption<&[Vector<G, N>]>,
    beta: ComptimeOption<&[Vector<B, N>]>,
    mut dx: ComptimeOption<&mut [Vector<T, N>]>,
    mut dgate: ComptimeOption<&mut [Vector<T, N>]>,
    mut gamma_sums: ComptimeOption<&mut [Vector<S, N>]>,
    mut beta_sums: ComptimeOption<&mut [Vector<S, N>]>,
    rows: usize,
    row_vectors: usize,
    dy_pitch: usize,
    x_pitch: usize,
    gate_pitch: usize,
    gamma_rows: usize,
    stat_len: usize,
    inverse_count: InputScalar,
    #[comptime] blueprint: Blueprint,
    #[comptime] form: Form,
    #[comptime] reach: Reach,
    #[define(T)] _x_type: ElemType,
    #[define(S)] _statistic_type: ElemType,
    #[define(G)] _gamma_type: ElemType,
    #[define(B)] _beta_type: ElemType,
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
    let with_dgate = comptime!(dgate.is_some());
    let with_gamma = comptime!(gamma_sums.is_some());
    let with_beta = comptime!(beta_sums.is_some());
    let with_x = comptime!(with_dx || with_dgate || with_gamma);
    // The gradient of what is normalised.
    let with_du = comptime!(with_dx || (with_dgate && form.gates_before()));
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
        let gate_start = source * gate_pitch;
        let rstd = Vector::<S, N>::new(rstds[source]);
        let gamma_row = parameter_start(source, gamma_rows, row_vectors, form);
        // Not held: nor is gamma, from one phase or row to the next.
        let gamma_start = source * hidden + gamma_row;

        let held = comptime!(if hold { vectors as usize } else { 1 });
        let mut dys = Array::<Vector<T, N>>::new(held);
        let mut xs = Array::<Vector<T, N>>::new(held);
        let mut gates = Array::<Vector<T, N>>::new(comptime!(if form.gates() { held } else { 1 }));
        if comptime!(hold) {
            #[unroll]
            for step in 0..vectors {
                let column = column(step, blueprint);
                dys[step as usize] = load::<T, N>(dy, dy_start, column, row_vectors, exact);
                if comptime!(with_x) {
                    xs[step as usize] = load::<T, N>(x, x_start, column, row_vectors, exact);
                }
                if comptime!(form.gates()) {
                    gates[step as usize] =
                        load_operand::<T, N>(gate, gate_start, column, row_vectors, exact);
                }
            }
        }

        // The mean of gamma·dy·x·rstd over the row.
        let mut correction = zero;
        if comptime!(with_du) {
            let mut products = zero;
            let mut waiting = 0usize;
            #[unroll]
            for step in 0..vectors {
                let column = column(step, blueprint);
                let (dy_read, x_read, gate_here) = inputs::<T, N, S>(
                    dy,
                    x,
                    gate,
                    &dys,
                    &xs,
                    &gates,
                    dy_start + waiting,
                    x_start + waiting,
                    gate_start + waiting,
                    step,
                    row_vectors,
                    blueprint,
                    form,
                );
                let (dy_here, x_here) = around_norm::<S, N>(dy_read, x_read, gate_here, form);
                let mut scaled = dy_here;
                if comptime!(gamma.is_some()) {
                    let start = gamma_start + waiting;
                    let gamma_here =
                        parameter::<G, N, S>(gamma, start, column, row_vectors, exact, 1);
                    scaled *= factor::<S, N>(gamma_here, form);
                }
                products += scaled * (x_here * rstd);
                if comptime!(!hold && (step as usize + 1) * size % PHASE_ONE_AT_A_TIME == 0) {
                    waiting = hidden_zero_after::<S, N>(products, hidden);
                }
            }
            let c = sum_over_lanes::<S>(sum_of::<S, N>(products), turn, blueprint);
            correction = Vector::<S, N>::new(c * inverse_count);
        }

        let mut again = hidden;
        if active {
            #[unroll]
            for step in 0..vectors {
                let column = column(step, blueprint);
                let (dy_read, x_read, gate_here) = inputs::<T, N, S>(
                    dy,
                    x,
                    gate,
                    &dys,
                    &xs,
                    &gates,
                    dy_start + again,
                    x_start + again,
                    gate_start + again,
                    step,
                    row_vectors,
                    blueprint,
                    form,
                );
                let (dy_here, x_here) = around_norm::<S, N>(dy_read, x_read, gate_here, form);
                let normalised = x_here * rstd;
                again = hidden_zero_after::<S, N>(normalised, hidden);
                if comptime!(with_gamma) {
                    gamma_acc[step as usize] += dy_here * normalised;
                }
                if comptime!(with_beta) {
                    beta_acc[step as usize] += dy_here;
                }
                let mut scaled = dy_here;
                let mut n = normalised;
                if comptime!(gamma.is_some() && (with_dx || with_dgate)) {
                    let start = gamma_start + again;
                    let gamma_here =
                        parameter::<G, N, S>(gamma, start, column, row_vectors, exact, 1);
                    let factor = factor::<S, N>(gamma_here, form);
                    scaled *= factor;
                    if comptime!(with_dgate) {
                        n *= factor;
                    }
                }
                if comptime!(with_du) {
                    if comptime!(reach == Reach::Elements && form.gates()) {
                        scaled -= keep_read::<S, N>(normalised * correction, column, stat_len);
                    } else if is_read::<N>(column, stat_len, reach) {
                        scaled -= normalised * correction;
                    }
                }
                let du = rstd * scaled;
                #[comptime]
                if let ComptimeOption::Some(dx) = dx.as_mut() {
                    let out = Vector::<T, N>::cast_from(dx_of::<S, N>(du, gate_here, form));
                    if comptime!(exact) {
                        dx[source * row_vectors + column] = out;
                    } else if column < row_vectors {
                        dx[source * row_vectors + column] = out;
                    }
                }
                #[comptime]
                if let ComptimeOption::Some(dgate) = dgate.as_mut() {
                    if comptime!(beta.is_some()) {
                        let start = gamma_start + again;
                        n += parameter::<B, N, S>(beta, start, column, row_vectors, exact, 0);
                    }
                    let out = Vector::<T, N>::cast_from(dgate_of::<S, N>(
                        dy_read, n, x_read, du, gate_here, form,
                    ));
                    if comptime!(exact) {
                        dgate[source * row_vectors + column] = out;
                    } else if column < row_vectors {
                        dgate[source * row_vectors + column] = out;
                    }
                }
            }
        }
        if comptime!(reach == Reach::Elements && with_dx && !form.gates()) {
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
                    gamma_row,
                    last,
                    row_vectors,
                    stat_len,
                    rstd,
                    correction,
                    form,
                );
            }
        }
        first += CUBE_COUNT_X as usize * groups;
        turn += 1;
    }

    write_sums::<S, N>(&gamma_acc, &mut gamma_sums, row_vectors, blueprint, form);
    write_sums::<S, N>(&beta_acc, &mut beta_sums, row_vectors, blueprint, form);
}
