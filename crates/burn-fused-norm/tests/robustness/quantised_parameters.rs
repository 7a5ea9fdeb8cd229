//! Layers of a model whose weights were all quantised: gamma and beta are used as the values that they
//! stand for, as in Burn's layers.

use burn::module::{Module, Param, Quantizer};
use burn::tensor::quantization::{Calibration, QuantValue};
use burn::tensor::{DType, Device, Tensor};
use burn_fused_norm::{GateOrder, PerHeadRmsNormConfig, RmsNorm, RmsNormConfig};
use fused_norm_testkit::oracle::{self, Problem, silu};
use fused_norm_testkit::patterns::{b, g, p, q};
use fused_norm_testkit::{FloatKind, tolerance};

use crate::common::{devices, filled, values};

const FEATURES: usize = 32;
const ROWS: usize = 4;

/// In 8 bits, stored as the device does by default.
fn quantised<M: Module>(module: M, device: &Device) -> M {
    let scheme = device.settings().quantization.scheme;
    let scheme = scheme.with_value(QuantValue::Q8S);
    module.quantize_weights(&mut Quantizer::new(Calibration::MinMax, scheme))
}

/// The numbers that a quantised parameter stands for, which are not those that it was made of.
fn meant<const D: usize>(parameter: &Param<Tensor<D>>, made_of: fn(usize) -> f64) -> Vec<f64> {
    let tensor = parameter.val();
    assert!(
        matches!(tensor.dtype(), DType::QFloat(_)),
        "{:?}",
        tensor.dtype()
    );
    let meant = values(tensor.dequantize());
    let changed = |(i, value): (usize, &f64)| (value - made_of(i)).abs() > 1e-6;
    assert!(meant.iter().enumerate().any(changed), "{meant:?}");
    meant
}

fn problem<'a>(epsilon: f64, gamma: &'a [f64], beta: Option<&'a [f64]>) -> Problem<'a> {
    Problem {
        row_len: FEATURES,
        stat_len: FEATURES,
        epsilon,
        gamma: Some(gamma),
        beta,
    }
}

#[track_caller]
fn assert_right<const D: usize>(what: &str, y: Tensor<D>, exact: &oracle::Exact) {
    let tolerance = tolerance(FloatKind::F32, FloatKind::F32, FEATURES);
    let found = values(y);
    assert_eq!(found.len(), exact.values.len(), "{what}");
    for (i, found) in found.into_iter().enumerate() {
        let (want, magnitude) = (exact.values[i], exact.magnitudes[i]);
        assert!(
            tolerance.accepts(found, want, magnitude),
            "{what}, element {i}: {found}, expected {want}"
        );
    }
}

fn layer(device: &Device) -> RmsNorm {
    let mut norm = RmsNormConfig::new(FEATURES).with_bias(true).init(device);
    norm.gamma = Some(Param::from_tensor(filled([FEATURES], device, g)));
    norm.beta = Some(Param::from_tensor(filled([FEATURES], device, b)));
    quantised(norm, device)
}

#[test]
fn all_three_ways_through_a_quantised_layer() {
    for (name, device) in devices::selected() {
        let norm = layer(&device);
        let gamma = meant(norm.gamma.as_ref().unwrap(), g);
        let beta = meant(norm.beta.as_ref().unwrap(), b);
        let problem = problem(norm.epsilon, &gamma, Some(&beta));
        let x = || filled([ROWS, FEATURES], &device, p);
        let second = || filled([ROWS, FEATURES], &device, q);
        let numbers = |at: fn(usize) -> f64| (0..ROWS * FEATURES).map(at).collect::<Vec<_>>();

        let plain = oracle::forward(&numbers(p), &problem).y;
        assert_right(&format!("{name}, forward"), norm.forward(x()), &plain);

        let sums = numbers(|i| p(i) + q(i));
        let (y, _) = norm.forward_add(x(), second());
        let exact = oracle::forward(&sums, &problem).y;
        assert_right(&format!("{name}, forward_add"), y, &exact);

        let y = norm.forward_gated(x(), second(), GateOrder::AfterNorm);
        let gated = |(i, value): (usize, f64)| value * silu(q(i));
        let exact = oracle::Exact {
            values: plain.values.into_iter().enumerate().map(gated).collect(),
            magnitudes: plain.magnitudes,
        };
        assert_right(&format!("{name}, forward_gated"), y, &exact);
    }
}

#[test]
fn heads_with_a_quantised_gamma() {
    for (name, device) in devices::selected() {
        let mut norm = PerHeadRmsNormConfig::new(2, FEATURES).init(&device);
        norm.gamma = Param::from_tensor(filled([2, FEATURES], &device, g));
        let norm = quantised(norm, &device);
        let gamma = meant(&norm.gamma, g);
        let problem = problem(norm.epsilon, &gamma, None);
        let x: Vec<f64> = (0..ROWS * FEATURES).map(p).collect();
        let exact = oracle::forward(&x, &problem).y;
        let y = norm.forward(filled([ROWS / 2, 2, FEATURES], &device, p));
        assert_right(name, y, &exact);
    }
}

/// Gradients pass through a layer whose own parameters are quantised, and so do not learn.
#[test]
fn the_layer_before_a_quantised_one_learns() {
    for (name, device) in devices::selected() {
        let device = device.autodiff();
        let norm = layer(&device);
        let gamma = meant(norm.gamma.as_ref().unwrap(), g);
        let problem = problem(norm.epsilon, &gamma, None);
        let x: Tensor<2> = filled([ROWS, FEATURES], &device, p).require_grad();
        let dy = filled([ROWS, FEATURES], &device, q);
        let gradients = (norm.forward(x.clone()) * dy).sum().backward();
        let numbers = |at: fn(usize) -> f64| (0..ROWS * FEATURES).map(at).collect::<Vec<_>>();
        let exact = oracle::backward(&numbers(p), &numbers(q), &problem).dx;
        assert_right(name, x.grad(&gradients).unwrap(), &exact);
    }
}
