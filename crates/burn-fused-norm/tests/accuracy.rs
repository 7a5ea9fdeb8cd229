//! How often the output is the correctly rounded value, and how far it is off otherwise.

mod common;

use burn::module::Param;
use burn::nn;
use burn::prelude::*;
use burn::tensor::DType;
use burn_fused_norm::{RmsNorm, RmsNormConfig};
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

/// The figure that the README quotes: Burn's layer rounds the root mean square, the quotient and the
/// product, each to bf16.
#[test]
fn rounding_once_is_right_where_rounding_three_times_is_not() {
    let (rows, row_len) = (64, 4096);
    let device = Device::flex();
    let kind = FloatKind::BF16;
    let x: Vec<f64> = (0..rows * row_len)
        .map(|i| kind.round(patterns::p(i)))
        .collect();
    let gamma: Vec<f64> = (0..row_len).map(patterns::g).collect();
    let exact = oracle::forward(
        &x,
        &oracle::Problem {
            row_len,
            stat_len: row_len,
            epsilon: EPSILON,
            gamma: Some(&gamma),
            beta: None,
        },
    );
    let options = (&device, DType::BF16);
    let gamma = Tensor::<1>::from_data(TensorData::new(gamma, [row_len]), options);
    let x = Tensor::<2>::from_data(TensorData::new(x, [rows, row_len]), options);
    let burns = nn::RmsNorm {
        gamma: Param::from_tensor(gamma),
        epsilon: EPSILON,
    };
    let ours = RmsNorm::from(burns.clone());
    let share = |y: Tensor<2>| {
        let values = y.into_data();
        let right = values.iter::<f64>().zip(&exact.y.values);
        let right = right.filter(|(y, exact)| *y == kind.round(**exact)).count();
        100.0 * right as f64 / (rows * row_len) as f64
    };
    let (ours, burns) = (share(ours.forward(x.clone())), share(burns.forward(x)));
    println!(
        "bf16 [{rows}, {row_len}] correctly rounded: {ours:.2} %, burn::nn::RmsNorm {burns:.2} %"
    );
    assert!(ours >= 99.9, "{ours}");
    assert!(burns < 90.0, "Burn's layer has changed: {burns}");
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
