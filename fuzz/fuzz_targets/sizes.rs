//! Problems of any size.

use fused_norm_kernels::Problem;
use fused_norm_kernels::cpu::{self, Affine, Interleaved, Rows};

use crate::common::ALL;

/// Sizes that no memory has: refused, as their buffers are too short.
pub fn refused(raw: (usize, usize, usize, usize, f64, usize), values: &[u8]) {
    let (rows, row_len, stat_len, gamma_rows, epsilon, pitch) = raw;
    let Ok(problem) = Problem::new(rows, row_len, stat_len, epsilon) else {
        return;
    };
    let Ok(problem) = problem.with_gamma_rows(gamma_rows) else {
        return;
    };
    let x: Vec<f32> = values.iter().map(|value| f32::from(*value)).collect();
    let needed = |groups: usize, last: Option<usize>| match groups.checked_sub(1) {
        None => Some(0),
        Some(before) => before.checked_mul(pitch)?.checked_add(last?),
    };
    let fits = |needed: Option<usize>| needed.is_some_and(|needed| needed <= x.len());
    if !fits(needed(rows, Some(row_len))) {
        let apart = Rows::with_pitch(&x, pitch);
        assert!(cpu::forward(&problem, apart, Affine::None).is_err());
        assert!(cpu::add_forward(&problem, apart, apart, Affine::None, true).is_err());
        let backward = cpu::backward(&problem, apart, apart, &x, None, ALL);
        assert!(backward.is_err());
    }
    let inner = values.len() % 5;
    if inner == 0
        || !rows.is_multiple_of(inner)
        || !fits(needed(rows / inner, row_len.checked_mul(inner)))
    {
        let side_by_side = Interleaved::new(&x, inner, pitch);
        let found = cpu::interleaved_forward(&problem, side_by_side, Affine::None, true);
        assert!(found.is_err() || rows == 0, "{problem:?}");
    }
}
