//! dx of rows side by side: x and dy are read twice.

use cubecl::prelude::*;

use super::walk::{start_of, sum_of_walk};
use super::{AT_A_TIME, ROUNDS_A_SPAN, parameter_at};
use crate::cube::Form;
use crate::cube::kernels::affine::factor;

/// See [`forward_interleaved`](super::forward::forward_interleaved) for who takes what.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn backward_interleaved<T: Float, N: Size, S: Float, G: Float>(
    dy: &[Vector<T, N>],
    x: &[Vector<T, N>],
    rstds: &[Vector<S, N>],
    gamma: ComptimeOption<&[G]>,
    dx: &mut [Vector<T, N>],
    positions: usize,
    inner: usize,
    dy_pitch: usize,
    x_pitch: usize,
    row_len: usize,
    stat_len: usize,
    inverse_count: InputScalar,
    #[comptime] lanes: u32,
    #[comptime] groups: u32,
    #[comptime] form: Form,
    #[define(T)] _x_type: ElemType,
    #[define(S)] _statistic_type: ElemType,
    #[define(G)] _gamma_type: ElemType,
) {
    let inverse_count = Vector::<S, N>::new(inverse_count.get::<S>());
    let group = (UNIT_POS / lanes) as usize;
    let stride = comptime!(groups as usize);
    let mut first = CUBE_POS_X as usize * comptime!(lanes as usize);
    while first < positions {
        let position = first + (UNIT_POS % lanes) as usize;
        // Units beyond the last position repeat it, as all must take part in the sum.
        let source = select(position < positions, position, positions - 1);
        let dy_start = start_of(source, inner, dy_pitch);
        let x_start = start_of(source, inner, x_pitch);
        let rstd = rstds[source];
        let products = sum_products::<T, N, S, G>(
            dy, x, gamma, dy_start, x_start, rstd, inner, group, row_len, stride, form,
        );
        let c = sum_of_walk::<S, N>(products, lanes, groups);

        if position < positions {
            let correction = c * inverse_count;
            let target = start_of(source, inner, row_len * inner);
            let mut element = group;
            while element < row_len {
                let at = element * inner;
                let mut scaled = Vector::<S, N>::cast_from(dy[dy_start + at]);
                if comptime!(gamma.is_some()) {
                    let gamma_here = parameter_at::<G, N, S>(gamma, element, 1);
                    scaled *= factor::<S, N>(gamma_here, form);
                }
                if element < stat_len {
                    let normalised = Vector::<S, N>::cast_from(x[x_start + at]) * rstd;
                    scaled -= normalised * correction;
                }
                dx[target + at] = Vector::cast_from(rstd * scaled);
                element += stride;
            }
        }
        first += CUBE_COUNT_X as usize * comptime!(lanes as usize);
    }
}

/// The part of `c` that one unit reads.
#[cube]
fn sum_products<T: Float, N: Size, S: Float, G: Float>(
    dy: &[Vector<T, N>],
    x: &[Vector<T, N>],
    gamma: ComptimeOption<&[G]>,
    dy_start: usize,
    x_start: usize,
    rstd: Vector<S, N>,
    inner: usize,
    group: usize,
    row_len: usize,
    #[comptime] stride: usize,
    #[comptime] form: Form,
) -> Vector<S, N> {
    let zero = Vector::<S, N>::new(S::from_int(0));
    let mut total = zero;
    let mut element = group;
    while element < row_len {
        let mut sums = Array::<Vector<S, N>>::new(AT_A_TIME);
        #[unroll]
        for sum in 0..AT_A_TIME {
            sums[sum] = zero;
        }
        let span_end = min(
            element + comptime!(stride * AT_A_TIME * ROUNDS_A_SPAN),
            row_len,
        );
        while element + comptime!(stride * (AT_A_TIME - 1)) < span_end {
            #[unroll]
            for sum in 0..AT_A_TIME {
                let here = element + comptime!(sum * stride);
                sums[sum] +=
                    product::<T, N, S, G>(dy, x, gamma, dy_start, x_start, rstd, inner, here, form);
            }
            element += comptime!(stride * AT_A_TIME);
        }
        while element < span_end {
            sums[0] +=
                product::<T, N, S, G>(dy, x, gamma, dy_start, x_start, rstd, inner, element, form);
            element += stride;
        }
        total += (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    total
}

/// `dy · gamma · (x · rstd)` of one element of a vector of rows.
#[cube]
fn product<T: Float, N: Size, S: Float, G: Float>(
    dy: &[Vector<T, N>],
    x: &[Vector<T, N>],
    gamma: ComptimeOption<&[G]>,
    dy_start: usize,
    x_start: usize,
    rstd: Vector<S, N>,
    inner: usize,
    element: usize,
    #[comptime] form: Form,
) -> Vector<S, N> {
    let at = element * inner;
    let mut scaled = Vector::<S, N>::cast_from(dy[dy_start + at]);
    if comptime!(gamma.is_some()) {
        let gamma_here = parameter_at::<G, N, S>(gamma, element, 1);
        scaled *= factor::<S, N>(gamma_here, form);
    }
    scaled * (Vector::cast_from(x[x_start + at]) * rstd)
}
