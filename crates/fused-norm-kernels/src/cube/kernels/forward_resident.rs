//! Forward over rows that fit into the registers of the units that share them: every input is read
//! once, every output written once.

use cubecl::prelude::*;

use super::affine::{parameter, parameter_start, scaled, shifted};
use super::gate::silu;
use super::group::sums_over_lanes;
use super::operand::{combined, combined_at, load_operand};
use super::squares::{FAR, NEAR, SCALES, overflows, rstd_of, rstd_of_far, square};
use super::vectors::{
    column, hidden_zero, hidden_zero_after, keep_read, load, steps_read, straddling, sum_of,
};
use crate::cube::scales::may_overflow;
use crate::cube::{Blueprint, Form, Reach};

#[cube(launch_unchecked, address_type = "dynamic")]
pub fn forward_resident<T: Float, N: Size, S: Float, G: Float, B: Float>(
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
    let exact = comptime!(blueprint.exact);
    let vectors = comptime!(blueprint.vectors);
    let early = comptime!(blueprint.held && gamma.is_some());
    let inverse_count = inverse_count.get::<S>();
    let scale = scale.get::<S>();
    let far_scale = far_scale.get::<S>();
    let epsilon = scaled_epsilon.get::<S>();
    let groups = comptime!(blueprint.row_groups as usize);
    let both = comptime!(may_overflow(x_type, form));

    let hidden = hidden_zero::<S>(inverse_count);

    let mut first = CUBE_POS_X as usize * groups;
    let mut turn = 0u32;
    while first < rows {
        let row = first + (UNIT_POS / blueprint.lanes) as usize;
        // Groups beyond the last row repeat it, as all units must take part in the sum.
        let source_row = select(row < rows, row, rows - 1);
        let source = source_row * x_pitch;
        let operand_source = source_row * operand_pitch;

        let mut held = Array::<Vector<T, N>>::new(comptime!(vectors as usize));
        let mut others = Array::<Vector<T, N>>::new(comptime!(if form.has_operand() {
            vectors as usize
        } else {
            1
        }));
        #[unroll]
        for step in 0..vectors {
            let column = column(step, blueprint);
            held[step as usize] = load::<T, N>(x, source, column, row_vectors, exact);
            if comptime!(form.has_operand()) {
                others[step as usize] =
                    load_operand::<T, N>(operand, operand_source, column, row_vectors, exact);
            }
        }
        let early_start = row * hidden + parameter_start(source_row, gamma_rows, row_vectors, form);
        let mut scales =
            Array::<Vector<G, N>>::new(comptime!(if early { vectors as usize } else { 1 }));
        if comptime!(early) {
            #[comptime]
            if let ComptimeOption::Some(gamma) = gamma {
                #[unroll]
                for step in 0..vectors {
                    let column = column(step, blueprint);
                    scales[step as usize] =
                        load::<G, N>(gamma, early_start, column, row_vectors, exact);
                }
            }
        }
        let mut combinations = Array::<Vector<S, N>>::new(comptime!(if form.combines() {
            vectors as usize
        } else {
            1
        }));
        if comptime!(form.combines()) {
            #[unroll]
            for step in 0..vectors {
                combinations[step as usize] =
                    combined::<T, N, S>(held[step as usize], others[step as usize], form);
            }
        }

        let steps = steps_read::<N>(stat_len, blueprint, reach);
        let mut squares = Vector::<S, N>::new(S::from_int(0));
        let mut far = S::from_int(0);
        #[unroll]
        for step in 0..vectors {
            if step < steps {
                let value = normalised::<T, N, S>(&held, &combinations, step, form);
                squares += square::<S, N>(value, scale);
                if comptime!(both) {
                    far += sum_of::<S, N>(square::<S, N>(value, far_scale));
                }
            }
        }
        if comptime!(reach == Reach::Elements) {
            let last = straddling::<N>(stat_len, row_vectors, blueprint.lanes);
            if last < row_vectors {
                let value = combined_at::<T, N, S>(
                    x,
                    operand,
                    source,
                    operand_source,
                    last,
                    row_vectors,
                    form,
                );
                let value = keep_read::<S, N>(value, last, stat_len);
                squares += square::<S, N>(value, scale);
                if comptime!(both) {
                    far += sum_of::<S, N>(square::<S, N>(value, far_scale));
                }
            }
        }
        let mut sums = Array::<S>::new(SCALES);
        sums[NEAR] = sum_of::<S, N>(squares);
        sums[FAR] = far;
        sums_over_lanes::<S>(
            &mut sums,
            turn,
            comptime!(if both { SCALES } else { 1 }),
            blueprint,
        );
        let mut rstd = rstd_of::<S>(sums[NEAR], inverse_count, epsilon, scale);
        if comptime!(both) {
            if overflows::<S>(sums[NEAR]) {
                rstd = rstd_of_far::<S>(sums[FAR], inverse_count, far_scale);
            }
        }

        // Late parameters are not loaded ahead of the sum: they would take the row's registers.
        let mut late = early_start + hidden_zero_after::<S, Const<1>>(Vector::new(rstd), hidden);
        if row < rows {
            #[unroll]
            for step in 0..vectors {
                let column = column(step, blueprint);
                let value = normalised::<T, N, S>(&held, &combinations, step, form);
                let mut out = value * Vector::new(rstd);
                if comptime!(gamma.is_some()) {
                    let gamma_here = if comptime!(early) {
                        Vector::<S, N>::cast_from(scales[step as usize])
                    } else {
                        parameter::<G, N, S>(gamma, late, column, row_vectors, exact, 1)
                    };
                    out = scaled::<T, N, S>(out, gamma_here, form);
                }
                if comptime!(beta.is_some()) {
                    let beta_here = parameter::<B, N, S>(beta, late, column, row_vectors, exact, 0);
                    out = shifted::<T, N, S>(out, beta_here, form);
                }
                if comptime!(!blueprint.held && beta.is_some() && step % 2 == 1) {
                    late = early_start + hidden_zero_after::<S, N>(out, hidden);
                }
                if comptime!(form.gates_after()) {
                    out *= silu::<S, N>(Vector::cast_from(others[step as usize]));
                }
                if comptime!(exact) {
                    y[row * row_vectors + column] = Vector::cast_from(out);
                } else if column < row_vectors {
                    y[row * row_vectors + column] = Vector::cast_from(out);
                }
                #[comptime]
                if let ComptimeOption::Some(sum) = sum.as_mut() {
                    if comptime!(exact) {
                        sum[row * row_vectors + column] = Vector::cast_from(value);
                    } else if column < row_vectors {
                        sum[row * row_vectors + column] = Vector::cast_from(value);
                    }
                }
            }
            #[comptime]
            if let ComptimeOption::Some(rstds) = rstds.as_mut() {
                if UNIT_POS % blueprint.lanes == 0 {
                    rstds[row] = rstd;
                }
            }
        }
        first += CUBE_COUNT_X as usize * groups;
        turn += 1;
    }
}

/// Vector `step` of this lane, of what is normalised.
#[cube]
fn normalised<T: Float, N: Size, S: Float>(
    held: &Array<Vector<T, N>>,
    combinations: &Array<Vector<S, N>>,
    step: u32,
    #[comptime] form: Form,
) -> Vector<S, N> {
    if comptime!(form.combines()) {
        combinations[step as usize]
    } else {
        Vector::<S, N>::cast_from(held[step as usize])
    }
}
