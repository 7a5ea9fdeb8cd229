//! dgamma and dbeta of rows too long for a cube to hold sums of: every cube sums a few columns over
//! all rows, so that there are no partial sums in memory.

use cubecl::prelude::*;

use super::combine::total_of_groups;

/// `lanes` neighbouring vectors of columns a cube, and `groups` rows at a time.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn columns<T: Float, N: Size, S: Float, G: Float, B: Float>(
    dy: &[Vector<T, N>],
    x: &[Vector<T, N>],
    rstds: &[S],
    mut dgamma: ComptimeOption<&mut [Vector<G, N>]>,
    mut dbeta: ComptimeOption<&mut [Vector<B, N>]>,
    rows: usize,
    row_vectors: usize,
    dy_pitch: usize,
    x_pitch: usize,
    #[comptime] lanes: u32,
    #[comptime] groups: u32,
    #[define(T)] _x_type: ElemType,
    #[define(S)] _statistic_type: ElemType,
    #[define(G)] _gamma_type: ElemType,
    #[define(B)] _beta_type: ElemType,
) {
    let zero = Vector::<S, N>::new(S::from_int(0));
    let mut first = CUBE_POS_X as usize * comptime!(lanes as usize);
    while first < row_vectors {
        let column = first + (UNIT_POS % lanes) as usize;
        let mut gamma_sum = zero;
        let mut beta_sum = zero;
        if column < row_vectors {
            let mut row = (UNIT_POS / lanes) as usize;
            while row < rows {
                let dy_here = Vector::<S, N>::cast_from(dy[row * dy_pitch + column]);
                if comptime!(dgamma.is_some()) {
                    let x_here = Vector::<S, N>::cast_from(x[row * x_pitch + column]);
                    gamma_sum += dy_here * (x_here * Vector::new(rstds[row]));
                }
                if comptime!(dbeta.is_some()) {
                    beta_sum += dy_here;
                }
                row += comptime!(groups as usize);
            }
        }
        #[comptime]
        if let ComptimeOption::Some(dgamma) = dgamma.as_mut() {
            let total = total_of_groups::<S, N>(gamma_sum, lanes, groups);
            if UNIT_POS < lanes && column < row_vectors {
                dgamma[column] = Vector::cast_from(total);
            }
        }
        #[comptime]
        if let ComptimeOption::Some(dbeta) = dbeta.as_mut() {
            let total = total_of_groups::<S, N>(beta_sum, lanes, groups);
            if UNIT_POS < lanes && column < row_vectors {
                dbeta[column] = Vector::cast_from(total);
            }
        }
        first += CUBE_COUNT_X as usize * comptime!(lanes as usize);
    }
}
