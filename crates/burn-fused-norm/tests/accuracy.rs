//! How often the output is the correctly rounded value, and how far it is off otherwise.

mod common;

use burn::prelude::*;
use burn::tensor::DType;
use burn_fused_norm::RmsNormConfig;
use fused_norm_testkit::{FloatKind, oracle, patterns};

const SHAPES: [[usize; 2]; 5] = [[64, 256], [64, 1000], [32, 1024], [16, 4096], [16, 8192]];
const EPSILON: f64 = 1e-6;

/// Our outputs and the exact ones, for the pattern P in `kind` with gamma = 1.
fn outputs(
    device: &Device,
    [rows, row_len]: [usize; 2],
    kind: FloatKind,
    dtype: DType,
) -> [Vec<f64>; 2] {
    let x: Vec<f64> = (0..rows * row_len)
        .map(|i| kind.round(patterns::p(i)))
        .collect();
    let exact = oracle::forward(
        &x,
        &oracle::Problem {
            row_len,
            stat_len: row_len,
            epsilon: EPSILON,
            gamma: None,
            beta: None,
        },
    );
    let norm = RmsNormConfig::new(row_len)
        .with_epsilon(EPSILON)
        .init(device);
    let x = Tensor::<2>::from_data(TensorData::new(x, [rows, row_len]), (device, dtype));
    let ours = norm.forward(x).into_data().iter::<f64>().collect();
    [ours, exact.y.values]
}

#[test]
fn half_types_are_correctly_rounded() {
    for (kind, dtype) in [(FloatKind::F16, DType::F16), (FloatKind::BF16, DType::BF16)] {
        for shape in SHAPES {
            let [ours, exact] = outputs(&Device::flex(), shape, kind, dtype);
            let tie = 2_f64.powi(-23);
            let right = |(&ours, &exact): (&f64, &f64)| {
                ours == kind.round(exact * (1.0 - tie)) || ours == kind.round(exact * (1.0 + tie))
            };
            let count = ours.iter().zip(&exact).filter(|&pair| right(pair)).count();
            let share = count as f64 / ours.len() as f64;
            println!("{kind} {shape:?}: {:.4} % correctly rounded", 100.0 * share);
            assert!(share >= 0.999, "{kind} {shape:?}: {share}");
        }
    }
}

#[test]
fn full_types_are_close() {
    for (kind, dtype, bound) in [
        (FloatKind::F32, DType::F32, 5e-7),
        (FloatKind::F64, DType::F64, 1e-14),
    ] {
        for device in common::cpu_devices() {
            for shape in SHAPES {
                let [ours, exact] = outputs(&device, shape, kind, dtype);
                let error = ours.iter().zip(&exact).map(|(ours, exact)| {
                    let error = (ours - exact).abs();
                    if error == 0.0 {
                        0.0
                    } else {
                        error / exact.abs()
                    }
                });
                let worst = error.fold(0.0, f64::max);
                println!("{kind} {shape:?}: off by {worst:.1e} at most");
                assert!(worst <= bound, "{kind} {shape:?} on {device:?}: {worst:e}");
            }
        }
    }
}
