//! Forward over rows that are read twice: long ones, or, with one lane a row, any.

use cubecl::prelude::*;

use super::affine::{parameter, parameter_start, scaled, shifted};
use super::gate::silu;
use super::group::sum_over_lanes;
use super::operand::{combined_at, load_operand};
use super::vectors::{keep_read, rstd_of, square, straddling, sum_of};
use crate::cube::{Blueprint, Form, Reach};

/// Independent sums a lane: enough for the additions of one to hide behind the others'.
const SUMS: usize = 4;
/// Rounds of `SUMS` vectors whose sums are added up apart, so that no sum has many terms.
const ROUNDS_A_SPAN: usize = 16;

#[cube(launch_unchecked, address_type = "dynamic")]
pub fn forward_streamed<T: Float, N: Size, S: Float, G: Float, B: Float>(
    x: &[Vector<T, N>],
    operand: ComptimeOption<&[Vector<T, N>]>,
    gamma: ComptimeOption<&[Vector<G, N>]>,
    beta: ComptimeOption<&[Vector<B, N>]>,
    y: &mut [Vector<T, N>],
    mut sum: ComptimeOption<&mut [Vector<T, N>]>,
    mut rstds: ComptimeOption<&mut [S]>,
    rows: usize,
    row_vectors: usize,
    x_pitch: usize,
    operand_pitch: usize,
    gamma_rows: usize,
    stat_len: usize,
    inverse_count: InputScalar,
    scale: InputScalar,
    scaled_epsilon: InputScalar,
    #[comptime] blueprint: Blueprint,
    #[comptime] form: Form,
    #[comptime] reach: Reach,
    #[define(T)] _x_type: ElemType,
    #[define(S)] _statistic_type: ElemType,
    #[define(G)] _gamma_type: ElemType,
    #[define(B)] _beta_type: ElemType,
) {
    let inverse_count = inverse_count.get::<S>();
    let scale = scale.get::<S>();
    let epsilon = scaled_epsilon.get::<S>();
    let groups = comptime!(blueprint.row_groups as usize);
    let lanes = comptime!(blueprint.lanes as usize);
    let lane = (UNIT_POS % blueprint.lanes) as usize;

    let mut first = CUBE_POS_X as usize * groups;
    let mut turn = 0u32;
    while first < rows {
        let row = first + (UNIT_POS / blueprint.lanes) as usize;
        let source_row = select(row < rows, row, rows - 1);
        let source = source_row * x_pitch;
        let operand_source = source_row * operand_pitch;
        let squares = sum_squares::<T, N, S>(
            x,
            operand,
            source,
            operand_source,
            lane,
            row_vectors,
            stat_len,
            scale,
            lanes,
            form,
            reach,
        );
        let total = sum_over_lanes::<S>(squares, turn, blueprint);
        let rstd = rstd_of::<S>(total, inverse_count, epsilon, scale);

        if row < rows {
            let target = row * row_vectors;
            let start = parameter_start(row, gamma_rows, row_vectors, form);
            let mut column = lane;
            while column < row_vectors {
                let value = combined_at::<T, N, S>(
                    x,
                    operand,
                    source,
                    operand_source,
                    column,
                    row_vectors,
                    form,
                );
                let mut out = value * Vector::new(rstd);
                if comptime!(gamma.is_some()) {
                    let gamma_here =
                        parameter::<G, N, S>(gamma, start, column, row_vectors, true, 1);
                    out = scaled::<T, N, S>(out, gamma_here, form);
                }
                if comptime!(beta.is_some()) {
                    let beta_here = parameter::<B, N, S>(beta, start, column, row_vectors, true, 0);
                    out = shifted::<T, N, S>(out, beta_here, form);
                }
                if comptime!(form.gates_after()) {
                    let gate =
                        load_operand::<T, N>(operand, operand_source, column, row_vectors, true);
                    out *= silu::<S, N>(Vector::cast_from(gate));
                }
                y[target + column] = Vector::cast_from(out);
                #[comptime]
                if let ComptimeOption::Some(sum) = sum.as_mut() {
                    sum[target + column] = Vector::cast_from(value);
                }
                column += lanes;
            }
            #[comptime]
            if let ComptimeOption::Some(rstds) = rstds.as_mut() {
                if lane == 0 {
                    rstds[row] = rstd;
                }
            }
        }
        first += CUBE_COUNT_X as usize * groups;
        turn += 1;
    }
}

/// The sum of the squares that one lane reads: vectors `lane`, `lane + lanes`, and so on.
#[cube]
fn sum_squares<T: Float, N: Size, S: Float>(
    x: &[Vector<T, N>],
    operand: ComptimeOption<&[Vector<T, N>]>,
    source: usize,
    operand_source: usize,
    lane: usize,
    row_vectors: usize,
    stat_len: usize,
    scale: S,
    #[comptime] lanes: usize,
    #[comptime] form: Form,
    #[comptime] reach: Reach,
) -> S {
    let mut total = S::from_int(0);
    // Vectors beyond the statistic's are not read at all.
    let mut end = row_vectors;
    if comptime!(reach != Reach::Row) {
        end = stat_len / N::value();
    }
    if comptime!(reach == Reach::Elements) {
        let last = straddling::<N>(stat_len, row_vectors, comptime!(lanes as u32));
        if last < row_vectors {
            let value =
                combined_at::<T, N, S>(x, operand, source, operand_source, last, row_vectors, form);
            total += sum_of::<S, N>(keep_read::<S, N>(
                square::<S, N>(value, scale),
                last,
                stat_len,
            ));
        }
    }
    let mut column = lane;
    while column < end {
        let mut sums = Array::<Vector<S, N>>::new(SUMS);
        #[unroll]
        for sum in 0..SUMS {
            sums[sum] = Vector::new(S::from_int(0));
        }
        let span_end = min(column + comptime!(lanes * SUMS * ROUNDS_A_SPAN), end);
        while column + comptime!(lanes * (SUMS - 1)) < span_end {
            #[unroll]
            for sum in 0..SUMS {
                let here = column + comptime!(sum * lanes);
                let value = combined_at::<T, N, S>(
                    x,
                    operand,
                    source,
                    operand_source,
                    here,
                    row_vectors,
                    form,
                );
                sums[sum] += square::<S, N>(value, scale);
            }
            column += comptime!(lanes * SUMS);
        }
        while column < span_end {
            let value = combined_at::<T, N, S>(
                x,
                operand,
                source,
                operand_source,
                column,
                row_vectors,
                form,
            );
            sums[0] += square::<S, N>(value, scale);
            column += lanes;
        }
        total += sum_of::<S, N>((sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
    total
}
