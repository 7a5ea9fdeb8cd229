//! Infinities, subnormal numbers, and rows whose squares f32 cannot hold.

use burn::tensor::{DType, Device, Tensor};
use burn_fused_norm::{GateOrder, RmsNormOptions, gated_rms_norm, rms_norm};
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

/// The types that a device computes in; it is told which it lacks.
fn types(name: &str, device: &Device) -> Vec<DType> {
    let types = [DType::F64, DType::F32, DType::F16, DType::BF16].into_iter();
    let (types, others): (Vec<_>, Vec<_>) =
        types.partition(|dtype| devices::computes(device, *dtype));
    if !others.is_empty() {
        skipped(&format!("{name} has no {others:?}"));
    }
    types
}

/// Along the last axis, and along the first, where rows lie side by side and have kernels of their own.
#[test]
fn an_infinity_stays_in_its_row() {
    const ROWS: usize = 16;
    const ROW_LEN: usize = 4;
    // Row 0 has an infinity at 1.
    let element = |row: usize, at: usize| match (row, at) {
        (0, 1) => f64::INFINITY,
        _ => (at + 1) as f64 / (row + 1) as f64,
    };
    for (name, device) in devices::selected() {
        for dtype in types(name, &device) {
            for axis in [0, 1] {
                let what = format!("{name} {dtype:?} axis {axis}");
                let norm = |first: usize| {
                    let x = match axis {
                        0 => filled([ROWS - first, ROW_LEN], &device, |i| {
                            element(first + i / ROW_LEN, i % ROW_LEN)
                        }),
                        _ => filled([ROW_LEN, ROWS - first], &device, |i| {
                            element(first + i % (ROWS - first), i / (ROWS - first))
                        }),
                    };
                    let options = RmsNormOptions::new(1e-6).with_axis(axis);
                    let y = rms_norm(x.cast(dtype), None, None, options);
                    values(if axis == 0 { y } else { y.transpose() })
                };
                let y = norm(0);
                assert_eq!(y[ROW_LEN..], norm(1), "{what}: the other rows");
                if is_ieee(name) {
                    assert!(y[1].is_nan(), "{what}: {y:?}");
                    assert_eq!([y[0], y[2], y[3]], [0.0; 3], "{what}");
                } else {
                    skipped(&format!("{name} may assume that there are no infinities"));
                }
            }
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

/// Rows of P times a factor.
fn scaled(factor: f64, epsilon: f64) -> Case {
    Case::new("scaled", FloatKind::F32, &[3, ROW_LEN])
        .fill(Fill::ScaledP(factor))
        .epsilon(epsilon)
}

fn problem(epsilon: f64) -> Problem<'static> {
    Problem {
        row_len: ROW_LEN,
        stat_len: ROW_LEN,
        epsilon,
        gamma: None,
        beta: None,
    }
}

/// y, which must be right with this epsilon as it is.
fn exact_y(case: &Case) -> oracle::Exact {
    oracle::forward(&case.x(), &problem(case.epsilon)).y
}

fn y_of(case: &Case, device: &Device) -> Vec<f64> {
    let x = case.x();
    norm(filled([3, ROW_LEN], device, |i| x[i]), case.epsilon)
}

#[test]
fn rows_far_from_one_are_normalised() {
    let tolerance = tolerance(FloatKind::F32, FloatKind::F32, ROW_LEN);
    let usual = [0, 15, 18, 19, 20, 25, 29, 31, 37].map(|exponent| (exponent, 1e-6));
    // With an epsilon that is nothing beside them, nor a number of f32.
    let tiny = [-35, -30, -25, -20, -19, -15, 0, 10, 20, 24].map(|exponent| (exponent, 1e-73));
    let others = [(-19, 1e-38), (18, 1e-40), (37, 1e-40), (0, 1e6), (37, 1e6)];
    for (name, device) in devices::selected() {
        for (exponent, epsilon) in usual.into_iter().chain(tiny).chain(others) {
            let case = scaled(10_f64.powi(exponent), epsilon);
            let exact = exact_y(&case);
            let y = y_of(&case, &device);
            let (want, magnitudes) = (&exact.values, &exact.magnitudes);
            let judged = compare(&case, Quantity::Y, &y, want, magnitudes, &tolerance);
            assert!(
                judged.is_ok(),
                "{name} 1e{exponent} {epsilon:e}: {judged:?}"
            );
        }
    }
}

/// Rows side by side have kernels of their own.
#[test]
fn columns_far_from_one_are_normalised_too() {
    const COLUMNS: usize = 16;
    let options = RmsNormOptions::new(1e-6).with_axis(1);
    let tolerance = tolerance(FloatKind::F32, FloatKind::F32, ROW_LEN);
    for (name, device) in devices::selected() {
        for factor in [1e18, 1e20, 1e29, 1e37] {
            let x = filled([ROW_LEN, COLUMNS], &device, |i| factor * p(i));
            let x_values = values(x.clone());
            let y = values(rms_norm(x, None, None, options));
            for column in 0..COLUMNS {
                let along = |all: &[f64]| -> Vec<f64> {
                    all.iter().skip(column).step_by(COLUMNS).copied().collect()
                };
                let exact = oracle::forward(&along(&x_values), &problem(1e-6)).y;
                for (at, y) in along(&y).iter().enumerate() {
                    let (want, error) = (exact.values[at], (y - exact.values[at]).abs());
                    let slack = tolerance.slack(exact.magnitudes[at]);
                    assert!(error <= slack, "{name} {factor:e}: {y}, expected {want}");
                }
            }
        }
    }
}

/// With x and dy both far from 1 no inner product of the two is formed.
#[test]
fn gradients_of_large_rows_are_right() {
    let tolerance = tolerance(FloatKind::F32, FloatKind::F32, ROW_LEN);
    for (name, device) in devices::selected() {
        for (factor, dy_factor) in [(1e29, 1e8), (1e37, 1e8), (1e25, 1e20), (1e-3, 1e34)] {
            let case = scaled(factor, 1e-6);
            let x_values = case.x();
            let dy_values: Vec<f64> = (0..x_values.len())
                .map(|i| FloatKind::F32.round(dy_factor * p(i + 17)))
                .collect();
            let device = device.clone().autodiff();
            let x = filled([3, ROW_LEN], &device, |i| x_values[i]).require_grad();
            let dy = filled([3, ROW_LEN], &device, |i| dy_values[i]);
            let y = rms_norm(x.clone(), None, None, RmsNormOptions::new(case.epsilon));
            let gradients = (y * dy).sum().backward();
            let dx = values(x.grad(&gradients).expect("tracked"));
            let exact = oracle::backward(&x_values, &dy_values, &problem(case.epsilon)).dx;
            let (want, magnitudes) = (&exact.values, &exact.magnitudes);
            let judged = compare(&case, Quantity::Dx, &dx, want, magnitudes, &tolerance);
            assert!(
                judged.is_ok(),
                "{name} {factor:e} {dy_factor:e}: {judged:?}"
            );
        }
    }
}

/// The rstd of zeros is `1/√epsilon`, which f32 may not have: infinity times zero is no 0.
#[test]
fn zeros_stay_zeros_however_small_epsilon_is() {
    for (name, device) in devices::selected() {
        for epsilon in [1e-12, 1e-73, 1e-80, 1e-300, 5e-324] {
            for axis in [0, 1] {
                let device = device.clone().autodiff();
                let x = filled([2, ROW_LEN], &device, |_| 0.0).require_grad();
                let options = RmsNormOptions::new(epsilon).with_axis(axis);
                let y = rms_norm(x.clone(), None, None, options);
                let gradients = y.clone().sum().backward();
                let dx = values(x.grad(&gradients).expect("tracked"));
                let y = values(y);
                assert!(y.iter().all(|&y| y == 0.0), "{name} {epsilon:e}: {y:?}");
                let rising = dx.iter().all(|&dx| dx.is_finite() && dx > 0.0);
                assert!(rising, "{name} {epsilon:e}: {dx:?}");
            }
        }
    }
}

/// Rows that are summed otherwise are next to rows that are not.
#[test]
fn a_row_out_of_range_leaves_its_neighbours_alone() {
    for (name, device) in devices::selected() {
        let plain = norm(filled([3, 64], &device, p), 1e-6);
        for factor in [1e-40, 1e-30, 1e25, 1e35, 1e37] {
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

/// A gate far beyond where silu is 0 or the identity: no 0 times infinity in it, nor in its slope.
#[test]
fn a_gate_is_shut_or_open_at_its_ends() {
    for (name, device) in devices::selected() {
        let far = if is_ieee(name) { f64::INFINITY } else { 3e38 };
        if !is_ieee(name) {
            skipped(&format!("{name} may assume that there are no infinities"));
        }
        for far in [far, 1e30, 200.0] {
            let device = device.clone().autodiff();
            let gates = [-far, far, 0.0, -far];
            let x = filled([1, 4], &device, |i| 0.25 * (i + 1) as f64).require_grad();
            let gate = filled([1, 4], &device, |i| gates[i]).require_grad();
            let options = RmsNormOptions::new(1e-6);
            let order = GateOrder::AfterNorm;
            let y = gated_rms_norm(x.clone(), gate.clone(), None, None, order, options);
            let normed = values(rms_norm(x.clone(), None, None, options));
            let shut = values(y.clone());
            assert_eq!(
                [shut[0], shut[2], shut[3]],
                [0.0; 3],
                "{name} {far:e}: {shut:?}"
            );
            let open = shut[1] / normed[1];
            let right = open.is_infinite() == far.is_infinite() && open > 0.0;
            assert!(right, "{name} {far:e}: {shut:?}");
            let gradients = y.sum().backward();
            let dgate = values(gate.grad(&gradients).expect("tracked"));
            let want = [0.0, normed[1], 0.5 * normed[2], 0.0];
            for (got, want) in dgate.iter().zip(want) {
                assert!((got - want).abs() < 1e-6, "{name} {far:e}: {dgate:?}");
            }
        }
    }
}
