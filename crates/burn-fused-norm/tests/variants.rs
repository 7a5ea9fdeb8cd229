//! The variants as a user meets them: each module against the plain one, part by part.

mod common;

use burn::module::{Module, Param};
use burn::prelude::*;
use burn::tensor::{DType, Distribution};
use burn_fused_norm::{
    GateOrder, PerHeadRmsNormConfig, RmsNorm, RmsNormConfig, RmsNormOptions, Rounding, rms_norm,
};
use common::values;

fn random<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::random(shape, Distribution::Normal(0.0, 1.0), device)
}

/// A layer whose gamma is not all ones.
fn trained(config: RmsNormConfig, device: &Device) -> RmsNorm {
    let mut norm = config.init(device);
    norm.gamma = norm.gamma.map(|gamma| {
        let moved = gamma.val() + random([config.d_model], device) * 0.25;
        Param::from_tensor(moved.detach())
    });
    norm
}

#[test]
fn display_and_parameters_tell_the_conventions() {
    let device = Device::flex();
    let config = RmsNormConfig::new(8)
        .with_zero_centered(true)
        .with_rounding(Rounding::BeforeGamma)
        .with_groups(2)
        .with_axis(1);
    let norm = config.init(&device);
    assert_eq!(
        norm.to_string(),
        "RmsNorm {d_model: 8, epsilon: 0.00001, zero_centered: true, rounding: BeforeGamma, groups: 2, axis: 1, params: 8}"
    );
    assert_eq!(values(norm.gamma.unwrap().val()), [0.0; 8]);

    let heads = PerHeadRmsNormConfig::new(2, 3).with_zero_centered(true);
    assert_eq!(values(heads.init(&device).gamma.val()), [0.0; 6]);

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.json");
    config.save(&file).unwrap();
    let loaded = RmsNormConfig::load(&file).unwrap();
    assert_eq!(
        loaded.init(&device).to_string(),
        norm_text(&config, &device)
    );
}

fn norm_text(config: &RmsNormConfig, device: &Device) -> String {
    config.init(device).to_string()
}

/// A model's configuration may hold the conventions of its norms.
#[derive(Config, Debug, PartialEq)]
struct BlockConfig {
    norm: RmsNormConfig,
    #[config(default = "GateOrder::BeforeNorm")]
    order: GateOrder,
}

#[test]
fn conventions_stand_in_a_configuration() {
    let config = BlockConfig::new(RmsNormConfig::new(8).with_groups(2));
    for config in [config.clone(), config.with_order(GateOrder::AfterNorm)] {
        let saved = config.to_string();
        assert_eq!(BlockConfig::load_binary(saved.as_bytes()).unwrap(), config);
        assert!(saved.contains(&format!("\"order\": \"{:?}\"", config.order)));
    }
}

#[test]
fn records_of_every_variant_load() {
    let device = Device::flex();
    let saved = trained(RmsNormConfig::new(6).with_zero_centered(true), &device);
    let gamma = values(saved.gamma.as_ref().unwrap().val());
    let loaded = RmsNormConfig::new(6).with_groups(3).init(&device);
    let loaded = loaded.load_record(saved.into_record());
    assert_eq!(values(loaded.gamma.unwrap().val()), gamma);
    assert_eq!((loaded.groups, loaded.zero_centered), (3, false));

    let heads = PerHeadRmsNormConfig::new(2, 3);
    let mut saved = heads.init(&device);
    saved.gamma = saved.gamma.map(|gamma| gamma * 3.0);
    let loaded = heads.init(&device).load_record(saved.into_record());
    assert_eq!(values(loaded.gamma.val()), [3.0; 6]);
}

#[test]
fn a_sum_is_normalised_as_two_operations_do() {
    for device in common::cpu_devices() {
        let norm = trained(RmsNormConfig::new(96).with_bias(true), &device);
        let (x, residual) = (random([5, 96], &device), random([5, 96], &device));
        let (y, sum) = norm.forward_add(x.clone(), residual.clone());
        let composed = x + residual;
        assert_eq!(values(sum), values(composed.clone()));
        assert_eq!(values(y), values(norm.forward(composed)));
    }
}

#[test]
fn both_outputs_of_a_sum_send_gradients_to_both_inputs() {
    for device in common::cpu_devices() {
        for device in [
            device.clone().autodiff(),
            device.autodiff().gradient_checkpointing(),
        ] {
            let norm = trained(RmsNormConfig::new(16), &device);
            let inputs = [(); 2].map(|()| random([3, 16], &device));
            let weights = [(); 2].map(|()| random([3, 16], &device));
            let gradients = |fused: bool| {
                let [x, residual] = inputs.clone().map(|input| input.detach().require_grad());
                let (y, sum) = match fused {
                    true => norm.forward_add(x.clone(), residual.clone()),
                    false => {
                        let sum = x.clone() + residual.clone();
                        (norm.forward(sum.clone()), sum)
                    }
                };
                let [of_y, of_sum] = weights.clone();
                let gradients = (y * of_y + sum * of_sum).sum().backward();
                let gamma = norm.gamma.as_ref().unwrap().val().grad(&gradients).unwrap();
                let inputs = [x, residual].map(|input| values(input.grad(&gradients).unwrap()));
                (inputs, values(gamma))
            };
            assert_eq!(gradients(true), gradients(false));
        }
    }
}

#[test]
fn a_16_bit_sum_is_normalised_before_it_is_rounded() {
    let device = Device::flex();
    let tensor = |values: [f64; 2]| Tensor::<1>::from_data(values, (&device, DType::BF16));
    // 256 + 1 is 256 in bf16; with this epsilon, that shows in y.
    let norm = RmsNormConfig::new(2)
        .with_affine(false)
        .with_epsilon(63_500.0)
        .init(&device);
    let (y, sum) = norm.forward_add(tensor([256.0, 0.0]), tensor([1.0, 0.0]));
    assert_eq!(sum.into_data().iter::<f64>().next(), Some(256.0));
    let exact = 257.0 / (257.0_f64 * 257.0 / 2.0 + 63_500.0).sqrt();
    let rounded = 256.0 / (256.0_f64 * 256.0 / 2.0 + 63_500.0).sqrt();
    let nearest = |value: f64| burn::tensor::bf16::from_f64(value).to_f64();
    assert_ne!(nearest(exact), nearest(rounded));
    assert_eq!(y.into_data().iter::<f64>().next(), Some(nearest(exact)));
}

#[test]
fn zero_centred_gamma_is_one_more() {
    for device in common::cpu_devices() {
        let norm = trained(RmsNormConfig::new(33).with_zero_centered(true), &device);
        let x = random([4, 33], &device);
        let factor = norm.gamma.as_ref().unwrap().val() + 1.0;
        let plain = rms_norm(x.clone(), Some(factor), None, RmsNormOptions::new(1e-5));
        assert_eq!(values(norm.forward(x)), values(plain));
    }
}

#[test]
fn groups_and_heads_are_normalised_by_themselves() {
    for device in common::cpu_devices() {
        let x = random([7, 3 * 20], &device);
        let norm = trained(RmsNormConfig::new(60).with_groups(3), &device);
        let gamma = norm.gamma.as_ref().unwrap().val();
        let parts = (0..3).map(|group| {
            let part = x.clone().narrow(1, 20 * group, 20);
            let gamma = gamma.clone().narrow(0, 20 * group, 20);
            rms_norm(part, Some(gamma), None, RmsNormOptions::new(1e-5))
        });
        let parts = Tensor::cat(parts.collect(), 1);
        assert_eq!(values(norm.forward(x.clone())), values(parts));

        let mut heads = PerHeadRmsNormConfig::new(3, 20).init(&device);
        heads.gamma = heads.gamma.map(|_| gamma.reshape([3, 20]));
        let by_heads = heads.forward(x.clone().reshape([7, 3, 20]));
        assert_eq!(values(by_heads), values(norm.forward(x)));
    }
}

#[test]
fn another_axis_is_the_last_one_of_a_permuted_copy() {
    for device in common::cpu_devices() {
        let device = device.autodiff();
        let norm = trained(RmsNormConfig::new(6).with_axis(2), &device);
        let mut last = norm.clone();
        last.axis = 0;
        let dy = random([2, 6, 5, 4], &device);
        let images = random([2, 6, 5, 4], &device);
        let gradients = |aside: bool| {
            let x = images.clone().detach().require_grad();
            let y = match aside {
                true => norm.forward(x.clone()),
                false => {
                    let y = last.forward(x.clone().permute([0, 2, 3, 1]) * 1.0);
                    y.permute([0, 3, 1, 2])
                }
            };
            let gradients = (y.clone() * dy.clone()).sum().backward();
            let gamma = norm.gamma.as_ref().unwrap().val().grad(&gradients).unwrap();
            [
                values(y.inner()),
                values(x.grad(&gradients).unwrap()),
                values(gamma),
            ]
        };
        for (aside, copied) in gradients(true).iter().zip(gradients(false)) {
            assert_eq!(aside.len(), copied.len());
            for (a, b) in aside.iter().zip(copied) {
                assert!((a - b).abs() <= 2e-6 * b.abs().max(1.0), "{a} and {b}");
            }
        }
    }
}

#[test]
fn a_gate_is_what_its_composition_is() {
    for device in common::cpu_devices() {
        let device = device.autodiff();
        let norm = trained(RmsNormConfig::new(24).with_groups(2), &device);
        let (x, gate) = (random([5, 24], &device), random([5, 24], &device) * 3.0);
        let dy = random([5, 24], &device);
        for order in [GateOrder::AfterNorm, GateOrder::BeforeNorm] {
            let gradients = |fused: bool| {
                let [x, gate] = [&x, &gate].map(|input| input.clone().detach().require_grad());
                let silu = || burn::tensor::activation::silu(gate.clone());
                let y = match (fused, order) {
                    (true, _) => norm.forward_gated(x.clone(), gate.clone(), order),
                    (false, GateOrder::AfterNorm) => norm.forward(x.clone()) * silu(),
                    (false, GateOrder::BeforeNorm) => norm.forward(x.clone() * silu()),
                };
                let gradients = (y.clone() * dy.clone()).sum().backward();
                let gamma = norm.gamma.as_ref().unwrap().val().grad(&gradients).unwrap();
                [
                    values(y.inner()),
                    values(x.grad(&gradients).unwrap()),
                    values(gate.grad(&gradients).unwrap()),
                    values(gamma),
                ]
            };
            for (fused, composed) in gradients(true).iter().zip(gradients(false)) {
                for (a, b) in fused.iter().zip(composed) {
                    assert!(
                        (a - b).abs() <= 1e-5 * b.abs().max(1.0),
                        "{order:?}: {a} and {b}"
                    );
                }
            }
        }
    }
}
