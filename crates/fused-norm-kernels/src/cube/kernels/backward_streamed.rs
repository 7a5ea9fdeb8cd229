//! Backward over rows that are read twice. With one lane a row, every unit keeps its sums of dgamma
//! and dbeta in rows of memory of its own, which stay in its cache, unless the plan leaves them to
//! `columns`. A cube walks over a block of neighbouring rows, so that no sum has many terms.

use cubecl::prelude::*;

use super::affine::{factor, parameter, parameter_start};
use super::gate::{around_norm, dgate_of, dx_of};
use super::group::sum_over_lanes;
use super::operand::load_operand;
use super::straddling::write_straddling;
use super::sums::clear;
use super::vectors::{is_read, keep_read, straddling, sum_of};
use crate::cube::{Blueprint, Form, Reach};

/// Independent sums a lane.
const SUMS: usize = 4;
/// Rounds of `SUMS` vectors whose sums are added up apart.
const ROUNDS_A_SPAN: usize = 16;

#[cube(launch_unchecked, address_type = "dynamic")]
pub fn backward_streamed<T: Float, N: Size, S: Float, G: Float, B: Float>(
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
    rows_a_cube: usize,
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
    let groups = comptime!(blueprint.row_groups as usize);
    let lanes = comptime!(blueprint.lanes as usize);
    let lane = (UNIT_POS % blueprint.lanes) as usize;
    let group = (UNIT_POS / blueprint.lanes) as usize;
    let mut sums_len = row_vectors;
    if comptime!(form.periodic) {
        sums_len = gamma_rows * row_vectors;
    }
    let unit_sums = (CUBE_POS_X as usize * groups + group) * sums_len;
    clear(&mut gamma_sums, unit_sums, lane, sums_len, lanes);
    clear(&mut beta_sums, unit_sums, lane, sums_len, lanes);
    let with_dx = comptime!(dx.is_some());
    let with_dgate = comptime!(dgate.is_some());
    // The gradient of what is normalised.
    let with_du = comptime!(with_dx || (with_dgate && form.gates_before()));

    let mut first = CUBE_POS_X as usize * rows_a_cube;
    let end = min(first + rows_a_cube, rows);
    let mut turn = 0u32;
    while first < end {
        let row = first + group;
        let active = row < end;
        let source = select(active, row, end - 1);
        let dy_start = source * dy_pitch;
        let x_start = source * x_pitch;
        let gate_start = source * gate_pitch;
        let gamma_start = parameter_start(source, gamma_rows, row_vectors, form);
        let sums_start = unit_sums + gamma_start;
        let rstd = Vector::<S, N>::new(rstds[source]);

        let mut correction = Vector::<S, N>::new(S::from_int(0));
        if comptime!(with_du) {
            let c = sum_products::<T, N, S, G>(
                dy,
                x,
                gate,
                gamma,
                dy_start,
                x_start,
                gate_start,
                gamma_start,
                rstd,
                lane,
                row_vectors,
                lanes,
                form,
            );
            let c = sum_over_lanes::<S>(c, turn, blueprint);
            correction = Vector::<S, N>::new(c * inverse_count.get::<S>());
        }
        if active {
            let mut column = lane;
            while column < row_vectors {
                let dy_read = Vector::<S, N>::cast_from(dy[dy_start + column]);
                let mut x_read = Vector::<S, N>::new(S::from_int(0));
                if comptime!(with_dx || with_dgate || gamma_sums.is_some()) {
                    x_read = Vector::cast_from(x[x_start + column]);
                }
                let gate_here = Vector::<S, N>::cast_from(load_operand::<T, N>(
                    gate,
                    gate_start,
                    column,
                    row_vectors,
                    true,
                ));
                let (dy_here, x_here) = around_norm::<S, N>(dy_read, x_read, gate_here, form);
                let normalised = x_here * rstd;
                #[comptime]
                if let ComptimeOption::Some(sums) = gamma_sums.as_mut() {
                    sums[sums_start + column] += dy_here * normalised;
                }
                #[comptime]
                if let ComptimeOption::Some(sums) = beta_sums.as_mut() {
                    sums[sums_start + column] += dy_here;
                }
                let mut scaled = dy_here;
                let mut n = normalised;
                if comptime!(gamma.is_some() && (with_dx || with_dgate)) {
                    let gamma_here =
                        parameter::<G, N, S>(gamma, gamma_start, column, row_vectors, true, 1);
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
                let target = source * row_vectors + column;
                #[comptime]
                if let ComptimeOption::Some(dx) = dx.as_mut() {
                    dx[target] = Vector::cast_from(dx_of::<S, N>(du, gate_here, form));
                }
                #[comptime]
                if let ComptimeOption::Some(dgate) = dgate.as_mut() {
                    if comptime!(beta.is_some()) {
                        n += parameter::<B, N, S>(beta, gamma_start, column, row_vectors, true, 0);
                    }
                    dgate[target] = Vector::cast_from(dgate_of::<S, N>(
                        dy_read, n, x_read, du, gate_here, form,
                    ));
                }
                column += lanes;
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
                    gamma_start,
                    last,
                    row_vectors,
                    stat_len,
                    rstd,
                    correction,
                    form,
                );
            }
        }
        first += groups;
        turn += 1;
    }
}

/// The part of `c` that one lane reads: vectors `lane`, `lane + lanes`, and so on.
#[cube]
fn sum_products<T: Float, N: Size, S: Float, G: Float>(
    dy: &[Vector<T, N>],
    x: &[Vector<T, N>],
    gate: ComptimeOption<&[Vector<T, N>]>,
    gamma: ComptimeOption<&[Vector<G, N>]>,
    dy_start: usize,
    x_start: usize,
    gate_start: usize,
    gamma_start: usize,
    rstd: Vector<S, N>,
    lane: usize,
    row_vectors: usize,
    #[comptime] lanes: usize,
    #[comptime] form: Form,
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
                sums[sum] += product::<T, N, S, G>(
                    dy,
                    x,
                    gate,
                    gamma,
                    dy_start,
                    x_start,
                    gate_start,
                    gamma_start,
                    rstd,
                    here,
                    row_vectors,
                    form,
                );
            }
            column += comptime!(lanes * SUMS);
        }
        while column < span_end {
            sums[0] += product::<T, N, S, G>(
                dy,
                x,
                gate,
                gamma,
                dy_start,
                x_start,
                gate_start,
                gamma_start,
                rstd,
                column,
                row_vectors,
                form,
            );
            column += lanes;
        }
        total += sum_of::<S, N>((sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
    total
}

/// `dy · gamma · (x · rstd)` of one vector, as the normalisation has them.
#[cube]
fn product<T: Float, N: Size, S: Float, G: Float>(
    dy: &[Vector<T, N>],
    x: &[Vector<T, N>],
    gate: ComptimeOption<&[Vector<T, N>]>,
    gamma: ComptimeOption<&[Vector<G, N>]>,
    dy_start: usize,
    x_start: usize,
    gate_start: usize,
    gamma_start: usize,
    rstd: Vector<S, N>,
    column: usize,
    row_vectors: usize,
    #[comptime] form: Form,
) -> Vector<S, N> {
    let (dy_here, x_here) = around_norm::<S, N>(
        Vector::cast_from(dy[dy_start + column]),
        Vector::cast_from(x[x_start + column]),
        Vector::cast_from(load_operand::<T, N>(
            gate,
            gate_start,
            column,
            row_vectors,
            true,
        )),
        form,
    );
    let mut scaled = dy_here;
    if comptime!(gamma.is_some()) {
        let gamma_here = parameter::<G, N, S>(gamma, gamma_start, column, row_vectors, true, 1);
        scaled *= factor::<S, N>(gamma_here, form);
    }
    scaled * (x_here * rstd)
}
