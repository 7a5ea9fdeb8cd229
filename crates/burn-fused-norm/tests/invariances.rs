//! The invariances of section 4 of the paper (Zhang & Sennrich 2019, arXiv:1910.07467), for
//! RMSNorm and pRMSNorm: what scaling the input or the weight matrix before the norm does to the
//! output and to each gradient. Scales are powers of two, and epsilon is negligible, so most of it
//! holds to the last bits.

mod common;

use burn::prelude::*;
use burn_fused_norm::{RmsNormOptions, rms_norm};
use fused_norm_testkit::patterns;

use common::values;

const ROWS: usize = 6;
const INPUTS: usize = 10;
const FEATURES: usize = 48;
const PARTIALS: [Option<f64>; 2] = [None, Some(0.25)];

struct Results {
    y: Vec<f64>,
    dweight: Vec<f64>,
    dgamma: Vec<f64>,
    dbeta: Vec<f64>,
}

/// `y = norm(x·weight)` with x times `input_scale` and the weight times `weight_scale`.
fn results(partial: Option<f64>, input_scale: f64, weight_scale: f64) -> Results {
    let device = Device::flex().autodiff();
    let options = (&device, burn::tensor::DType::F64);
    let tensor = |scale: f64, shape: [usize; 2], at: fn(usize) -> f64| {
        let values: Vec<f64> = (0..shape[0] * shape[1]).map(|i| scale * at(i)).collect();
        Tensor::<2>::from_data(TensorData::new(values, shape), options)
    };
    let row = |at: fn(usize) -> f64| {
        let values: Vec<f64> = (0..FEATURES).map(at).collect();
        Tensor::<1>::from_data(TensorData::new(values, [FEATURES]), options).require_grad()
    };
    let x = tensor(input_scale, [ROWS, INPUTS], patterns::p);
    let weight = tensor(weight_scale, [INPUTS, FEATURES], patterns::q).require_grad();
    let dy = tensor(1.0, [ROWS, FEATURES], patterns::q);
    let (gamma, beta) = (row(patterns::g), row(patterns::p));

    let options = RmsNormOptions::new(1e-30).with_partial(partial);
    let y = rms_norm(
        x.matmul(weight.clone()),
        Some(gamma.clone()),
        Some(beta.clone()),
        options,
    );
    let gradients = (y.clone() * dy).sum().backward();
    Results {
        y: values(y),
        dweight: values(weight.grad(&gradients).unwrap()),
        dgamma: values(gamma.grad(&gradients).unwrap()),
        dbeta: values(beta.grad(&gradients).unwrap()),
    }
}

fn assert_scaled(what: &str, found: &[f64], scale: f64, expected: &[f64]) {
    let largest = expected
        .iter()
        .fold(0.0_f64, |max, value| max.max(value.abs()));
    assert!(largest > 0.0, "{what}: a test on zeros tells nothing");
    for (found, expected) in found.iter().zip(expected) {
        let difference = (found - scale * expected).abs();
        assert!(
            difference <= 1e-12 * scale * largest,
            "{what}: {found}, expected {scale}·{expected}"
        );
    }
}

#[test]
fn scaling_the_input_changes_neither_output_nor_any_parameters_gradient() {
    for partial in PARTIALS {
        let plain = results(partial, 1.0, 1.0);
        for delta in [0.125, 0.5, 4.0, 1024.0] {
            let scaled = results(partial, delta, 1.0);
            assert_scaled("y", &scaled.y, 1.0, &plain.y);
            assert_scaled("dgamma", &scaled.dgamma, 1.0, &plain.dgamma);
            assert_scaled("dbeta", &scaled.dbeta, 1.0, &plain.dbeta);
            assert_scaled("dweight", &scaled.dweight, 1.0, &plain.dweight);
        }
    }
}

#[test]
fn scaling_the_weight_shrinks_its_own_gradient_and_changes_nothing_else() {
    for partial in PARTIALS {
        let plain = results(partial, 1.0, 1.0);
        for delta in [0.125, 0.5, 4.0, 1024.0] {
            let scaled = results(partial, 1.0, delta);
            assert_scaled("y", &scaled.y, 1.0, &plain.y);
            assert_scaled("dgamma", &scaled.dgamma, 1.0, &plain.dgamma);
            assert_scaled("dbeta", &scaled.dbeta, 1.0, &plain.dbeta);
            assert_scaled("dweight", &scaled.dweight, 1.0 / delta, &plain.dweight);
        }
    }
}

#[test]
fn the_statistic_is_not_that_of_layer_norm() {
    // RMSNorm gives up invariance to shifts: adding a constant to x changes y.
    let device = Device::flex();
    let options = RmsNormOptions::new(1e-30);
    let x = Tensor::<1>::from_floats([1.0, 2.0, 3.0, 4.0], &device);
    let plain = rms_norm(x.clone(), None, None, options);
    let shifted = rms_norm(x + 10.0, None, None, options);
    let difference: f32 = (plain - shifted).abs().max().into_scalar();
    assert!(difference > 0.1, "{difference}");
}
