//! Forward over rows side by side: every element is read twice, the second time from a cache where the
//! rows of a cube fit one.

use cubecl::prelude::*;

use super::walk::{start_of, sum_of_walk};
use super::{AT_A_TIME, ROUNDS_A_SPAN, parameter_at};
use crate::cube::Form;
use crate::cube::kernels::affine::{scaled, shifted};
use crate::cube::kernels::squares::{overflows, rstd_of, rstd_of_far, square};
use crate::cube::scales::may_overflow;

/// `positions` vectors of rows, of which every cube takes `lanes` neighbouring ones at a time; unit
/// `group` of the `groups` that share a walk takes elements `group`, `group + groups`, and so on.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn forward_interleaved<T: Float, N: Size, S: Float, G: Float, B: Float>(
    x: &[Vector<T, N>],
    gamma: ComptimeOption<&[G]>,
    beta: ComptimeOption<&[B]>,
    y: &mut [Vector<T, N>],
    mut rstds: ComptimeOption<&mut [Vector<S, N>]>,
    positions: usize,
    inner: usize,
    x_pitch: usize,
    row_len: usize,
    stat_len: usize,
    inverse_count: InputScalar,
    scale: InputScalar,
    far_scale: InputScalar,
    scaled_epsilon: InputScalar,
    #[comptime] lanes: u32,
    #[comptime] groups: u32,
    #[comptime] form: Form,
    #[define(T)] x_type: ElemType,
    #[define(S)] _statistic_type: ElemType,
    #[define(G)] _gamma_type: ElemType,
    #[define(B)] _beta_type: ElemType,
) {
    let inverse_count = inverse_count.get::<S>();
    let scale = scale.get::<S>();
    let far_scale = far_scale.get::<S>();
    let epsilon = scaled_epsilon.get::<S>();
    let group = (UNIT_POS / lanes) as usize;
    let stride = comptime!(groups as usize);
    let mut first = CUBE_POS_X as usize * comptime!(lanes as usize);
    while first < positions {
        let position = first + (UNIT_POS % lanes) as usize;
        // Units beyond the last position repeat it, as all must take part in the sum.
        let source = select(position < positions, position, positions - 1);
        let start = start_of(source, inner, x_pitch);
        let squares = sum_squares::<T, N, S>(x, start, inner, group, stat_len, scale, stride);
        let sum = sum_of_walk::<S, N>(squares, lanes, groups);
        let mut rstd = sum;
        let mut some_overflow = false;
        #[unroll]
        for lane in 0..N::value() {
            let sum = sum.extract(lane);
            let mut here = rstd_of::<S>(sum, inverse_count, epsilon, scale);
            if comptime!(may_overflow(x_type, form)) {
                // An rstd is never below 0.
                here = select(overflows::<S>(sum), S::from_int(-1), here);
                some_overflow = some_overflow || overflows::<S>(sum);
            }
            rstd.insert(lane, here);
        }
        if comptime!(may_overflow(x_type, form)) {
            if some_overflow {
                // Every unit goes down all of the walk.
                let far = sum_far_squares::<T, N, S>(x, start, inner, stat_len, far_scale);
                #[unroll]
                for lane in 0..N::value() {
                    let near = rstd.extract(lane);
                    let of_far = rstd_of_far::<S>(far.extract(lane), inverse_count, far_scale);
                    rstd.insert(lane, select(near < S::from_int(0), of_far, near));
                }
            }
        }

        if position < positions {
            let target = start_of(source, inner, row_len * inner);
            let mut element = group;
            while element < row_len {
                let value = Vector::<S, N>::cast_from(x[start + element * inner]);
                let mut out = value * rstd;
                if comptime!(gamma.is_some()) {
                    let gamma_here = parameter_at::<G, N, S>(gamma, element, 1);
                    out = scaled::<T, N, S>(out, gamma_here, form);
                }
                if comptime!(beta.is_some()) {
                    let beta_here = parameter_at::<B, N, S>(beta, element, 0);
                    out = shifted::<T, N, S>(out, beta_here, form);
                }
                y[target + element * inner] = Vector::cast_from(out);
                element += stride;
            }
            #[comptime]
            if let ComptimeOption::Some(rstds) = rstds.as_mut() {
                if group == 0 {
                    rstds[position] = rstd;
                }
            }
        }
        first += CUBE_COUNT_X as usize * comptime!(lanes as usize);
    }
}

/// The squares of all elements, summed in short sums and few registers.
#[cube]
fn sum_far_squares<T: Float, N: Size, S: Float>(
    x: &[Vector<T, N>],
    start: usize,
    inner: usize,
    stat_len: usize,
    far_scale: S,
) -> Vector<S, N> {
    let mut total = Vector::<S, N>::new(S::from_int(0));
    let mut element = 0usize;
    while element < stat_len {
        let mut sum = Vector::<S, N>::new(S::from_int(0));
        let span_end = min(element + comptime!(AT_A_TIME * ROUNDS_A_SPAN), stat_len);
        while element < span_end {
            let value = Vector::<S, N>::cast_from(x[start + element * inner]);
            sum += square::<S, N>(value, far_scale);
            element += 1;
        }
        total += sum;
    }
    total
}

/// The squares of one unit's elements, summed.
#[cube]
fn sum_squares<T: Float, N: Size, S: Float>(
    x: &[Vector<T, N>],
    start: usize,
    inner: usize,
    group: usize,
    stat_len: usize,
    scale: S,
    #[comptime] stride: usize,
) -> Vector<S, N> {
    let zero = Vector::<S, N>::new(S::from_int(0));
    let mut total = zero;
    let mut element = group;
    while element < stat_len {
        let mut sums = Array::<Vector<S, N>>::new(AT_A_TIME);
        #[unroll]
        for sum in 0..AT_A_TIME {
            sums[sum] = zero;
        }
        let span_end = min(
            element + comptime!(stride * AT_A_TIME * ROUNDS_A_SPAN),
            stat_len,
        );
        while element + comptime!(stride * (AT_A_TIME - 1)) < span_end {
            #[unroll]
            for sum in 0..AT_A_TIME {
                let here = element + comptime!(sum * stride);
                let value = Vector::<S, N>::cast_from(x[start + here * inner]);
                sums[sum] += square::<S, N>(value, scale);
            }
            element += comptime!(stride * AT_A_TIME);
        }
        while element < span_end {
            let value = Vector::<S, N>::cast_from(x[start + element * inner]);
            sums[0] += square::<S, N>(value, scale);
            element += stride;
        }
        total += (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    total
}
