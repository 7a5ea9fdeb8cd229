//! dgamma and dbeta of rows too long for a cube to hold sums of: every cube sums a few columns over
//! all rows, so that there are no partial sums in memory.

use cubecl::prelude::*;

use super::combine::{total_of_groups, with_part};
use super::gate::around_norm;
use super::operand::load_operand;
use crate::cube::Form;

/// Terms that are added up as they come: a sum of many more drifts, in f32 by 1e-3 of itself where 131 072
/// equal ones are added.
const ROWS_A_SUM: u32 = 256;

/// `lanes` neighbouring vectors of columns a cube, and `groups` rows at a time. Where rows take turns in
/// several rows of gamma, each of these has columns of its own.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn columns<T: Float, N: Size, S: Float, G: Float, B: Float>(
    dy: &[Vector<T, N>],
    x: &[Vector<T, N>],
    gate: ComptimeOption<&[Vector<T, N>]>,
    rstds: &[S],
    mut dgamma: ComptimeOption<&mut [Vector<G, N>]>,
    mut dbeta: ComptimeOption<&mut [Vector<B, N>]>,
    rows: usize,
    row_vectors: usize,
    dy_pitch: usize,
    x_pitch: usize,
    gate_pitch: usize,
    gamma_rows: usize,
    #[comptime] lanes: u32,
    #[comptime] groups: u32,
    #[comptime] form: Form,
    #[define(T)] _x_type: ElemType,
    #[define(S)] _statistic_type: ElemType,
    #[define(G)] _gamma_type: ElemType,
    #[define(B)] _beta_type: ElemType,
) {
    let zero = Vector::<S, N>::new(S::from_int(0));
    let mut columns = row_vectors;
    if comptime!(form.periodic) {
        columns = gamma_rows * row_vectors;
    }
    let mut first = CUBE_POS_X as usize * comptime!(lanes as usize);
    while first < columns {
        let column = first + (UNIT_POS % lanes) as usize;
        let mut gamma_sum = zero;
        let mut beta_sum = zero;
        let mut gamma_lost = zero;
        let mut beta_lost = zero;
        if column < columns {
            let mut row = (UNIT_POS / lanes) as usize;
            let mut rows_a_step = comptime!(groups as usize).runtime();
            let mut here = column;
            if comptime!(form.periodic) {
                row = row * gamma_rows + column / row_vectors;
                rows_a_step *= gamma_rows;
                here = column % row_vectors;
            }
            while row < rows {
                let mut gamma_part = zero;
                let mut beta_part = zero;
                let mut left = comptime!(ROWS_A_SUM).runtime();
                while row < rows && left > 0 {
                    let dy_read = Vector::<S, N>::cast_from(dy[row * dy_pitch + here]);
                    let mut x_read = zero;
                    if comptime!(dgamma.is_some()) {
                        x_read = Vector::cast_from(x[row * x_pitch + here]);
                    }
                    let gate_here =
                        load_operand::<T, N>(gate, row * gate_pitch, here, row_vectors, true);
                    let gate_here = Vector::<S, N>::cast_from(gate_here);
                    let (dy_here, x_here) = around_norm::<S, N>(dy_read, x_read, gate_here, form);
                    if comptime!(dgamma.is_some()) {
                        gamma_part += dy_here * (x_here * Vector::new(rstds[row]));
                    }
                    if comptime!(dbeta.is_some()) {
                        beta_part += dy_here;
                    }
                    row += rows_a_step;
                    left -= 1;
                }
                (gamma_sum, gamma_lost) = with_part::<S, N>(gamma_sum, gamma_lost, gamma_part);
                (beta_sum, beta_lost) = with_part::<S, N>(beta_sum, beta_lost, beta_part);
            }
        }
        #[comptime]
        if let ComptimeOption::Some(dgamma) = dgamma.as_mut() {
            let total = total_of_groups::<S, N>(gamma_sum, lanes, groups);
            if UNIT_POS < lanes && column < columns {
                dgamma[column] = Vector::cast_from(total);
            }
        }
        #[comptime]
        if let ComptimeOption::Some(dbeta) = dbeta.as_mut() {
            let total = total_of_groups::<S, N>(beta_sum, lanes, groups);
            if UNIT_POS < lanes && column < columns {
                dbeta[column] = Vector::cast_from(total);
            }
        }
        first += CUBE_COUNT_X as usize * comptime!(lanes as usize);
    }
}
