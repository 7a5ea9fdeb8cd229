//! Flex32, which CubeCL keeps in 32 bits and may compute in fewer: the layer computes in f32.

use burn::tensor::{DType, Device, Distribution, Tensor};
use burn_fused_norm::{GateOrder, RmsNormOptions, add_rms_norm, gated_rms_norm, rms_norm};
use fused_norm_testkit::oracle::{self, Exact, Problem};
use fused_norm_testkit::{FloatKind, tolerance};

use crate::common::{devices, filled, refusal, skipped, values};

const ROWS: usize = 3;
const FEATURES: usize = 33;
const EPSILON: f64 = 1e-5;

/// Made on the device: a tensor of host data comes out as f32.
fn random<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    let tensor = Tensor::random(
        shape,
        Distribution::Normal(0.0, 1.0),
        (device, DType::Flex32),
    );
    assert_eq!(tensor.dtype(), DType::Flex32);
    tensor
}

#[track_caller]
fn assert_right<const D: usize>(what: &str, tensor: Tensor<D>, exact: &Exact) {
    assert_eq!(tensor.dtype(), DType::Flex32, "{what}");
    let tolerance = tolerance(FloatKind::F32, FloatKind::F32, FEATURES);
    let found = values(tensor);
    assert_eq!(found.len(), exact.values.len(), "{what}");
    for (i, found) in found.into_iter().enumerate() {
        let (want, magnitude) = (exact.values[i], exact.magnitudes[i]);
        assert!(
            tolerance.accepts(found, want, magnitude),
            "{what}, element {i}: {found:e}, expected {want:e}"
        );
    }
}

#[test]
fn forward_and_backward_are_those_of_f32() {
    for (name, device) in devices::selected() {
        if devices::is_native(name) {
            skipped(&format!(
                "{name} keeps no Flex32, which is a type of CubeCL"
            ));
            continue;
        }
        if !device.supports_dtype(DType::Flex32) {
            skipped(&format!("{name} has no Flex32, which is refused"));
            let x = Tensor::<2>::ones([2, 4], (&device, DType::Flex32));
            assert_eq!(
                refusal(|| rms_norm(x, None, None, RmsNormOptions::new(EPSILON))),
                format!("rms_norm: x has type Flex32, which {device:?} lacks")
            );
            continue;
        }
        for by_f32 in [false, true] {
            trained(name, &device.clone().autodiff(), by_f32);
        }
    }
}

/// Judges y and the gradients of a loss that is computed in Flex32, or in f32: Burn's cast back from
/// that gives the same f32 tensor.
fn trained(name: &str, device: &Device, by_f32: bool) {
    let x = random([ROWS, FEATURES], device).require_grad();
    let gamma = random([FEATURES], device).require_grad();
    let dy = random([ROWS, FEATURES], device);
    let scale = values(gamma.clone());
    let problem = Problem {
        row_len: FEATURES,
        stat_len: FEATURES,
        epsilon: EPSILON,
        gamma: Some(&scale),
        beta: None,
    };
    let [numbers, of_dy] = [x.clone(), dy.clone()].map(values);
    let forward = oracle::forward(&numbers, &problem).y;
    let backward = oracle::backward(&numbers, &of_dy, &problem);

    let options = RmsNormOptions::new(EPSILON);
    let y = rms_norm(x.clone(), Some(gamma.clone()), None, options);
    let loss = match by_f32 {
        true => y.clone().cast(DType::F32) * dy.cast(DType::F32),
        false => y.clone() * dy,
    };
    let gradients = loss.sum().backward();
    let dx = x.grad(&gradients).unwrap();
    let dgamma: Tensor<2> = gamma.grad(&gradients).unwrap().unsqueeze();
    let what = |quantity| format!("{name}, by f32 {by_f32}, {quantity}");
    assert_right(&what("y"), y, &forward);
    assert_right(&what("dx"), dx, &backward.dx);
    assert_right(&what("dgamma"), dgamma, &backward.dgamma);
}

/// Makes a tensor of f32 with the values of another.
fn as_f32(tensor: &Tensor<2>) -> Tensor<2> {
    let numbers = values(tensor.clone());
    filled(tensor.dims(), &tensor.device(), |i| numbers[i])
}

/// The numbers of f32 rows.
#[test]
fn residuals_and_gates_are_those_of_f32() {
    for (name, device) in devices::selected() {
        if devices::is_native(name) || !device.supports_dtype(DType::Flex32) {
            skipped(&format!("{name} has no Flex32"));
            continue;
        }
        let device = device.autodiff();
        let [x, second] = [(); 2].map(|()| random([ROWS, FEATURES], &device));
        let gamma = random([FEATURES], &device);
        let run = |x: Tensor<2>, second: Tensor<2>| {
            let options = RmsNormOptions::new(EPSILON);
            let [x, second] = [x, second].map(Tensor::require_grad);
            let (a, b) = (x.clone(), second.clone());
            let (normed, sum) = add_rms_norm(a, b, Some(gamma.clone()), None, options);
            let (a, b, order) = (x.clone(), second.clone(), GateOrder::AfterNorm);
            let gated = gated_rms_norm(a, b, Some(gamma.clone()), None, order, options);
            let loss = normed.clone() * 2.0 + sum.clone() * gated.clone();
            let gradients = loss.sum().backward();
            let gradients = [x, second].map(|tensor| values(tensor.grad(&gradients).unwrap()));
            ([normed, sum, gated].map(values), gradients)
        };
        let plain = run(as_f32(&x), as_f32(&second));
        assert_eq!(run(x, second), plain, "{name}");
    }
}
