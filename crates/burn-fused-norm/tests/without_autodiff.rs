//! A build without the feature `autodiff`, in a program whose Burn has it: inference works, and a tensor
//! of an autodiff device is refused by the name of what is missing.
#![cfg(not(feature = "autodiff"))]

mod common;

use burn::tensor::{Device, Tensor};
use burn_fused_norm::{
    GateOrder, RmsNormConfig, RmsNormOptions, add_rms_norm, gated_rms_norm, per_head_rms_norm,
    rms_norm,
};
use common::{refusal, values};

fn ones<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::ones(shape, device)
}

#[test]
fn inference_works() {
    for device in common::cpu_devices() {
        let norm = RmsNormConfig::new(4).with_epsilon(3.0).init(&device);
        assert_eq!(values(norm.forward(ones([2, 4], &device))), [0.5; 8]);
    }
}

#[test]
fn a_tensor_of_an_autodiff_device_is_refused() {
    let options = RmsNormOptions::new(1e-5);
    let order = GateOrder::AfterNorm;
    for inner in common::cpu_devices() {
        let device = inner.clone().autodiff();
        let x = || ones([2, 4], &device);
        let untracked = || ones([2, 4], &inner);
        for (tensor, text) in [
            (
                "rms_norm: x",
                refusal(|| rms_norm(x(), None, None, options)),
            ),
            (
                "rms_norm: gamma",
                refusal(|| rms_norm(untracked(), Some(ones([4], &device)), None, options)),
            ),
            (
                "add_rms_norm: residual",
                refusal(|| add_rms_norm(untracked(), x(), None, None, options)),
            ),
            (
                "gated_rms_norm: gate",
                refusal(|| gated_rms_norm(untracked(), x(), None, None, order, options)),
            ),
            (
                "per_head_rms_norm: x",
                refusal(|| per_head_rms_norm(x(), x(), options)),
            ),
        ] {
            let expected = format!(
                "{tensor} is on {device:?}, for which burn-fused-norm needs its feature autodiff"
            );
            assert_eq!(text, expected);
        }
    }
}
