//! Forward over rows that are read twice: long ones, or, with one lane a row, any.

use cubecl::prelude::*;

use super::affine::{parameter, parameter_start, scaled, shifted};
use super::gate::silu;
use super::group::sums_over_lanes;
use super::operand::{combined_at, load_operand};
use super::squares::{
    FAR, NEAR, SCALES, overflows, rstd_of, rstd_of_far, sum_far_squares, sum_squares,
};
use crate::cube::scales::may_overflow;
use crate::cube::{Blueprint, Form, Reach};

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
    far_scale: InputScalar,
    scaled_epsilon: InputScalar,
    #[comptime] blueprint: Blueprint,
    #[comptime] form: Form,
    #[comptime] reach: Reach,
    #[define(T)] x_type: ElemType,
    #[define(S)] _statistic_type: ElemType,
    #[define(G)] _gamma_type: ElemType,
    #[define(B)] _beta_type: ElemType,
) {
    let inverse_count = inverse_count.get::<S>();
    let scale = scale.get::<S>();
    let far_scale = far_scale.get::<S>();
    let epsilon = scaled_epsilon.get::<S>();
    let groups = comptime!(blueprint.row_groups as usize);
    let lanes = comptime!(blueprint.lanes as usize);
    let both = comptime!(lanes > 1 && may_overflow(x_type, form));
    let lane = (UNIT_POS % blueprint.lanes) as usize;

    let mut first = CUBE_POS_X as usize * groups;
    let mut turn = 0u32;
    while first < rows {
        let row = first + (UNIT_POS / blueprint.lanes) as usize;
        let source_row = select(row < rows, row, rows - 1);
        let source = source_row * x_pitch;
        let operand_source = source_row * operand_pitch;
        let mut sums = Array::<S>::new(SCALES);
        sum_squares::<T, N, S>(
            x,
            operand,
            source,
            operand_source,
            lane,
            row_vectors,
            stat_len,
            scale,
            far_scale,
            &mut sums,
            lanes,
            both,
            form,
            reach,
        );
        if comptime!(lanes > 1) {
            sums_over_lanes::<S>(
                &mut sums,
                turn,
                comptime!(if both { SCALES } else { 1 }),
                blueprint,
            );
        }
        let mut rstd = rstd_of::<S>(sums[NEAR], inverse_count, epsilon, scale);
        if comptime!(may_overflow(x_type, form)) {
            if overflows::<S>(sums[NEAR]) {
                // A lane with a row of its own reads it once more.
                if comptime!(!both) {
                    sums[FAR] = sum_far_squares::<T, N, S>(
                        x,
                        operand,
                        source,
                        operand_source,
                        row_vectors,
                        stat_len,
                        far_scale,
                        form,
                        reach,
                    );
                }
                rstd = rstd_of_far::<S>(sums[FAR], inverse_count, far_scale);
            }
        }

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
