//! Infinities, subnormal numbers, and rows whose squares f32 cannot hold.

use burn::tensor::{Device, Tensor};
use burn_fused_norm::{RmsNormOptions, rms_norm};
use fused_norm_testkit::oracle::{self, Problem};
use fused_norm_testkit::patterns::p;
use fused_norm_testkit::{Case, Fill, FloatKind, Quantity, compare, tolerance};

use crate::common::devices::{self, is_native};
use crate::common::{filled, skipped, values};

/// Devices that compute on a CPU with IEEE numbers; shaders need not know infinities.
fn is_ieee(name: &str) -> bool {
    is_native(name) || name == "cpu"
}

fn norm(x: Tensor<2>, epsilon: f64) -> Vec<f64> {
    values(rms_norm(x, None, None, RmsNormOptions::new(epsilon)))
}

#[test]
fn an_infinity_stays_in_its_row() {
    for (name, device) in devices::selected() {
        let rows = [0.0, f64::INFINITY, 1.0, -1.0, 1.0, 2.0, 3.0, 4.0];
        let y = norm(filled([2, 4], &device, |i| rows[i]), 1e-6);
        let alone = norm(filled([1, 4], &device, |i| (i + 1) as f64), 1e-6);
        assert_eq!(y[4..], alone, "{name}: the other row");
        if is_ieee(name) {
            assert!(y[1].is_nan(), "{name}: {y:?}");
            assert_eq!([y[0], y[2], y[3]], [0.0; 3], "{name}");
        } else {
            skipped(&format!("{name} may assume that there are no infinities"));
        }
    }
}

#[test]
fn tiny_values_are_scaled_by_epsilon_alone() {
    for (name, device) in devices::selected() {
        // The square of 1e-20 is no number of f32, and nothing beside this epsilon.
        for y in norm(Tensor::full([2, 4], 1e-20, &device), 1e-12) {
            assert!((y / 1e-14 - 1.0).abs() < 1e-5, "{name}: {y:e}");
        }
        // A subnormal number, which a device may take for 0.
        let smallest = f64::from(f32::from_bits(1 << 16));
        for y in norm(filled([2, 4], &device, |_| smallest), 1e-12) {
            let right = (y / (smallest * 1e6) - 1.0).abs() < 1e-5;
            assert!(right || (y == 0.0 && !is_native(name)), "{name}: {y:e}");
        }
    }
}

const ROW_LEN: usize = 64;

/// Rows of P times a factor, and an epsilon that is nothing beside them, nor a number of f32.
fn scaled(factor: f64) -> Case {
    let epsilon = if factor < 1.0 { 1e-73 } else { 1e-6 };
    Case::new("scaled", FloatKind::F32, &[3, ROW_LEN])
        .fill(Fill::ScaledP(factor))
        .epsilon(epsilon)
}

/// y, which must be right with this epsilon as it is.
fn exact_y(case: &Case) -> oracle::Exact {
    let problem = Problem {
        row_len: ROW_LEN,
        stat_len: ROW_LEN,
        epsilon: case.epsilon,
        gamma: None,
        beta: None,
    };
    oracle::forward(&case.x(), &problem).y
}

fn y_of(case: &Case, device: &Device) -> Vec<f64> {
    let x = case.x();
    norm(filled([3, ROW_LEN], device, |i| x[i]), case.epsilon)
}

#[test]
fn rows_far_from_one_are_normalised_on_the_cpu() {
    let tolerance = tolerance(FloatKind::F32, FloatKind::F32, ROW_LEN);
    for (name, device) in devices::selected() {
        for exponent in [-35, -30, -25, -20, -19, -15, 0, 15, 18, 19, 20, 25, 30, 37] {
            let case = scaled(10_f64.powi(exponent));
            let exact = exact_y(&case);
            let y = y_of(&case, &device);
            let (want, magnitudes) = (&exact.values, &exact.magnitudes);
            let judged = compare(&case, Quantity::Y, &y, want, magnitudes, &tolerance);
            if is_native(name) || (0..=18).contains(&exponent) {
                assert!(judged.is_ok(), "{name} 1e{exponent}: {judged:?}");
                continue;
            }
            // The other kernels have no path for such rows: they become 0, and nothing else.
            let zeros = y.iter().all(|y| *y == 0.0);
            let small = exponent < 0 && y.iter().all(|y| y.is_finite());
            assert!(
                judged.is_ok() || zeros || small,
                "{name} 1e{exponent}: {:?}",
                &y[..4]
            );
            let what = match (judged.is_ok(), zeros) {
                (true, _) => "right".into(),
                (_, true) => "zeros".into(),
                _ => format!("{:e}, expected {:e}", y[0], want[0]),
            };
            skipped(&format!(
                "{name}, values of 1e{exponent} are not promised: {what}"
            ));
        }
    }
}

/// A row out of range is next to rows in range, whatever becomes of it.
#[test]
fn a_row_out_of_range_leaves_its_neighbours_alone() {
    for (name, device) in devices::selected() {
        let plain = norm(filled([3, 64], &device, p), 1e-6);
        for factor in [1e-40, 1e-30, 1e25, 1e37] {
            let row = |i: usize| if i / 64 == 1 { factor * p(i) } else { p(i) };
            let y = norm(filled([3, 64], &device, row), 1e-6);
            assert_eq!(y[..64], plain[..64], "{name} {factor:e}");
            assert_eq!(y[128..], plain[128..], "{name} {factor:e}");
            assert!(
                y[64..128].iter().all(|y| y.is_finite()),
                "{name} {factor:e}"
            );
        }
    }
}
