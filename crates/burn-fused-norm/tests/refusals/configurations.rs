//! What a configuration refuses when a layer is made of it.

use burn::tensor::Device;
use burn_fused_norm::RmsNormConfig;

use crate::common::refusal;

#[test]
fn configurations() {
    let device = Device::flex();
    let init = |config: RmsNormConfig| refusal(|| config.init(&device));
    assert_eq!(
        init(RmsNormConfig::new(0)),
        "RmsNormConfig: d_model is 0, expected at least 1"
    );
    for epsilon in [0.0, -1e-6, f64::NAN, f64::INFINITY] {
        assert_eq!(
            init(RmsNormConfig::new(4).with_epsilon(epsilon)),
            format!("RmsNormConfig: epsilon is {epsilon}, expected a finite number greater than 0")
        );
    }
    for partial in [0.0, -0.5, 1.0001, f64::NAN, f64::INFINITY] {
        assert_eq!(
            init(RmsNormConfig::new(4).with_partial(Some(partial))),
            format!("RmsNormConfig: partial is {partial}, expected a fraction in (0, 1]")
        );
    }
    assert_eq!(
        init(RmsNormConfig::new(4).with_affine(false).with_bias(true)),
        "RmsNormConfig: bias is true with affine false, expected affine true (beta needs gamma)"
    );
}

#[test]
fn conventions() {
    let device = Device::flex();
    let init = |config: RmsNormConfig| refusal(|| config.init(&device));
    let config = RmsNormConfig::new(6);
    for groups in [0, 4, 7] {
        assert_eq!(
            init(config.clone().with_groups(groups)),
            format!("RmsNormConfig: groups is {groups} with d_model 6, expected a divisor of it")
        );
    }
    assert_eq!(
        init(config.with_affine(false).with_zero_centered(true)),
        "RmsNormConfig: zero_centered is true with affine false, expected affine true (there is no gamma to centre)"
    );
}
