//! Parameters in 16 bits: what an optimizer's update loses there, and not in f32.

use burn::module::Param;
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{DType, Device, Tensor};
use burn_fused_norm::{RmsNorm, RmsNormConfig};

use crate::common::{devices, skipped, values};

const STEPS: usize = 100;

/// gamma after steps of 1e-3 with a gradient of 1.
fn trained(device: &Device, gamma: DType) -> Vec<f64> {
    let device = device.clone().autodiff();
    let mut norm: RmsNorm = RmsNormConfig::new(4).with_epsilon(1e-12).init(&device);
    norm.gamma = norm
        .gamma
        .map(|ones| Param::from_tensor(ones.val().cast(gamma).detach().require_grad()));
    let x = Tensor::<2>::ones([1, 4], (&device, DType::BF16));
    let mut optimizer = SgdConfig::new().init();
    for _ in 0..STEPS {
        let y = norm.forward(x.clone());
        assert_eq!(y.dtype(), DType::BF16);
        let gradients = y.sum().backward();
        let gradients = GradientsParams::from_grads(gradients, &norm);
        norm = optimizer.step(1e-3, norm, gradients);
    }
    let gamma_after = norm.gamma.unwrap().val().inner();
    assert_eq!(gamma_after.dtype(), gamma);
    values(gamma_after)
}

#[test]
fn an_update_below_half_a_step_is_lost_in_bf16_and_kept_in_f32() {
    for (name, device) in devices::selected() {
        if !devices::computes(&device, DType::BF16) {
            skipped(&format!("{name} has no bf16"));
            continue;
        }
        // Half a step of bf16 below 1 is 1.95e-3.
        assert_eq!(trained(&device, DType::BF16), [1.0; 4], "{name}");
        for gamma in trained(&device, DType::F32) {
            assert!((gamma - 0.9).abs() < 1e-5, "{name}: {gamma}");
        }
    }
}
