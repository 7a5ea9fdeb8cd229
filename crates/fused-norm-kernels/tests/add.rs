//! A residual that is added first, against the definition in f64.

mod common;

use common::{Data, Kind, Reference, affines, assert_near, bits, problems, values, wide};
use fused_norm_kernels::Rounding;
use fused_norm_kernels::cpu::{self, Element, Rows};
use fused_norm_testkit::patterns;

/// A residual that 16 bits cannot hold together with x.
fn residual_value(i: usize) -> f64 {
    patterns::q(i + 5) / 32.0
}

fn sums_are_right<T: Kind>() {
    for problem in problems() {
        let data = Data::<T>::new(&problem, residual_value);
        let n = problem.row_len();
        let (x, residual) = (Rows::dense(&data.x, n), Rows::dense(&data.second, n));
        // Exact: the patterns have few digits.
        let exact_sum: Vec<f64> = wide(&data.x)
            .iter()
            .zip(wide(&data.second))
            .map(|(x, residual)| x + residual)
            .collect();
        for affine in affines(&data.gamma, &data.beta) {
            let mut reference = Reference::new(problem, &data.x, affine);
            reference.x = exact_sum.clone();
            let found = cpu::add_forward(&problem, x, residual, affine, true).unwrap();
            assert_near("y", &found.y, &reference.y());
            let sum: Vec<T> = values(exact_sum.len(), |i| exact_sum[i]);
            assert_eq!(bits(&found.sum), bits(&sum));
            for (row, rstd) in found.rstd.as_ref().unwrap().iter().enumerate() {
                let exact = reference.rstd(row);
                assert!(
                    (rstd.to_f64() / exact - 1.0).abs()
                        <= 2.0 * T::KIND.statistic().unit_roundoff(),
                    "{rstd:?} {exact}"
                );
            }
            let inference = cpu::add_forward(&problem, x, residual, affine, false).unwrap();
            assert_eq!(inference.rstd, None);
            assert_eq!(bits(&inference.y), bits(&found.y));

            // Of a sum that T can hold, nothing tells the two apart.
            let zeros = vec![T::default(); data.x.len()];
            let zeros = Rows::dense(&zeros, n);
            let rounding = problem.with_rounding(Rounding::BeforeGamma);
            for problem in [problem, rounding] {
                let alone = cpu::add_forward(&problem, x, zeros, affine, true).unwrap();
                let (y, rstd) = cpu::forward_with_rstd(&problem, x, affine).unwrap();
                assert_eq!(bits(&alone.y), bits(&y));
                assert_eq!(alone.rstd, Some(rstd));
                assert_eq!(bits(&alone.sum), bits(&data.x));
            }
        }
    }
}

#[test]
fn a_residual_is_added_before_the_statistic() {
    for_every_type!(sums_are_right);
}
