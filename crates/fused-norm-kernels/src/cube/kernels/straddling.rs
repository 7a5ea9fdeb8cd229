//! dx of the one vector of which the statistic reads only the first elements.

use cubecl::prelude::*;

use super::affine::{factor, parameter};
use super::vectors::keep_read;
use crate::cube::Form;

/// Writes vector `last` of a row's dx again, element by element: `rstd·(a − x·rstd·correction)` where
/// the statistic reads, `rstd·a` beyond.
#[cube]
pub(super) fn write_straddling<T: Float, N: Size, S: Float, G: Float>(
    dy: &[Vector<T, N>],
    x: &[Vector<T, N>],
    gamma: ComptimeOption<&[Vector<G, N>]>,
    dx: &mut ComptimeOption<&mut [Vector<T, N>]>,
    dy_start: usize,
    x_start: usize,
    dx_start: usize,
    gamma_start: usize,
    last: usize,
    row_vectors: usize,
    stat_len: usize,
    rstd: Vector<S, N>,
    correction: Vector<S, N>,
    #[comptime] form: Form,
) {
    let mut scaled = Vector::<S, N>::cast_from(dy[dy_start + last]);
    if comptime!(gamma.is_some()) {
        let gamma_here = parameter::<G, N, S>(gamma, gamma_start, last, row_vectors, true, 1);
        scaled *= factor::<S, N>(gamma_here, form);
    }
    let normalised = Vector::<S, N>::cast_from(x[x_start + last]) * rstd;
    scaled -= keep_read::<S, N>(normalised * correction, last, stat_len);
    #[comptime]
    if let ComptimeOption::Some(dx) = dx.as_mut() {
        dx[dx_start + last] = Vector::cast_from(rstd * scaled);
    }
}
