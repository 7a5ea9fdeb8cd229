//! The second stage of dgamma and dbeta: rows of partial sums to their total, in a fixed order.

use cubecl::prelude::*;

use super::combine::{total_of_groups, with_part};

/// `lanes` neighbouring vectors of columns a cube, and `groups` partial rows at a time.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn reduce<N: Size, S: Float, G: Float, B: Float>(
    gamma_sums: ComptimeOption<&[Vector<S, N>]>,
    beta_sums: ComptimeOption<&[Vector<S, N>]>,
    mut dgamma: ComptimeOption<&mut [Vector<G, N>]>,
    mut dbeta: ComptimeOption<&mut [Vector<B, N>]>,
    partial_rows: usize,
    row_vectors: usize,
    #[comptime] lanes: u32,
    #[comptime] groups: u32,
    #[define(S)] _statistic_type: ElemType,
    #[define(G)] _gamma_type: ElemType,
    #[define(B)] _beta_type: ElemType,
) {
    let mut first = CUBE_POS_X as usize * comptime!(lanes as usize);
    while first < row_vectors {
        #[comptime]
        if let ComptimeOption::Some(sums) = gamma_sums {
            total::<N, S, G>(
                sums,
                &mut dgamma,
                first,
                partial_rows,
                row_vectors,
                lanes,
                groups,
            );
        }
        #[comptime]
        if let ComptimeOption::Some(sums) = beta_sums {
            total::<N, S, B>(
                sums,
                &mut dbeta,
                first,
                partial_rows,
                row_vectors,
                lanes,
                groups,
            );
        }
        first += CUBE_COUNT_X as usize * comptime!(lanes as usize);
    }
}

#[cube]
fn total<N: Size, S: Float, P: Float>(
    sums: &[Vector<S, N>],
    gradient: &mut ComptimeOption<&mut [Vector<P, N>]>,
    first: usize,
    partial_rows: usize,
    row_vectors: usize,
    #[comptime] lanes: u32,
    #[comptime] groups: u32,
) {
    let column = first + (UNIT_POS % lanes) as usize;
    let mut sum = Vector::<S, N>::new(S::from_int(0));
    let mut lost = sum;
    if column < row_vectors {
        let mut row = (UNIT_POS / lanes) as usize;
        while row < partial_rows {
            let part = sums[row * row_vectors + column];
            if comptime!(groups == 1) {
                // A unit has all of them, on CubeCL's CPU runtime up to 256 cubes' of each of its units.
                (sum, lost) = with_part::<S, N>(sum, lost, part);
            } else {
                sum += part;
            }
            row += comptime!(groups as usize);
        }
    }
    let total = total_of_groups::<S, N>(sum, lanes, groups);
    #[comptime]
    if let ComptimeOption::Some(gradient) = gradient.as_mut() {
        if UNIT_POS < lanes && column < row_vectors {
            gradient[column] = Vector::cast_from(total);
        }
    }
}
