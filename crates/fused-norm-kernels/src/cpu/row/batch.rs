//! The statistics of several short rows at once: a division, a root and another division take four rows
//! as long as one.

use super::statistic::{is_in_range, rounded, rstd, scaled_rstd, sqrt, sum_of_squares};
use super::values::Values;
use crate::cpu::Element;

/// Rows of a batch: a vector of 256 bits in f64. Eight were no faster.
const ROWS: usize = 4;

/// Elements of a batch at most: it is read twice, the second time from the first cache.
const ELEMENTS: usize = 1024;

/// Rows whose statistics are taken together.
#[inline(always)]
pub(in crate::cpu) fn rows_at_once(row_len: usize) -> usize {
    if row_len * ROWS <= ELEMENTS { ROWS } else { 1 }
}

/// The rstd of each of the first `rows` rows, at most as many as [`rows_at_once`]: the same bits as of
/// each alone.
#[inline(always)]
pub(in crate::cpu) fn rstd_of_batch<T: Element, Row: Values<T>>(
    rows: usize,
    row: impl Fn(usize) -> Row,
    stat_len: usize,
    epsilon: f64,
) -> [T::Statistic; ROWS] {
    let mut rstds = [T::Statistic::default(); ROWS];
    if rows == 1 {
        rstds[0] = rstd(row(0), stat_len, epsilon);
        return rstds;
    }
    let mut means = [0.0; ROWS];
    for (index, mean) in means[..rows].iter_mut().enumerate() {
        *mean = sum_of_squares(row(index), stat_len);
    }
    for (mean, rstd) in means.iter_mut().zip(&mut rstds) {
        *mean /= stat_len as f64;
        *rstd = rounded(1.0 / sqrt(*mean + epsilon));
    }
    for (index, mean) in means[..rows].iter().enumerate() {
        if !is_in_range::<T::Statistic>(*mean, epsilon) {
            rstds[index] = rounded(scaled_rstd(row(index).first(stat_len), epsilon));
        }
    }
    rstds
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_row_of_a_batch_has_the_rstd_of_a_row_alone() {
        let scales = [
            1.0_f32,
            1e30,
            0.0,
            1e-30,
            -3.0,
            f32::INFINITY,
            7.0,
            f32::NAN,
        ];
        for (row_len, stat_len) in [(1, 1), (31, 31), (33, 20), (64, 64), (256, 129)] {
            let rows: Vec<Vec<f32>> = scales
                .iter()
                .map(|scale| (1..=row_len).map(|j| scale * (j % 7) as f32).collect())
                .collect();
            for (first, count) in [0, ROWS]
                .into_iter()
                .flat_map(|at| (1..=ROWS).map(move |n| (at, n)))
            {
                let row = |index: usize| rows[first + index].as_slice();
                let together = rstd_of_batch::<f32, _>(count, row, stat_len, 1e-5);
                for (index, together) in together[..count].iter().enumerate() {
                    let alone = rstd(row(index), stat_len, 1e-5);
                    assert_eq!(
                        together.to_bits(),
                        alone.to_bits(),
                        "row {index} of {count} from {first}"
                    );
                }
            }
        }
    }
}
