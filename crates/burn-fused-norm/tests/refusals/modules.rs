//! What a layer refuses, by its fields and by what it is given.

use burn::tensor::Device;
use burn_fused_norm::{
    GateOrder, PerHeadRmsNormConfig, RmsNormConfig, RmsNormOptions, per_head_rms_norm,
};

use crate::common::refusal;
use crate::{on_every_device, ones};

/// Fields are public: a value that `init` would have refused is refused by the call.
#[test]
fn fields_that_were_changed_since() {
    on_every_device(|device| {
        let x = || ones([2, 4], device);
        let norm = || RmsNormConfig::new(4).with_bias(true).init(device);
        let mut changed = norm();
        changed.epsilon = 0.0;
        assert_eq!(
            refusal(|| changed.forward(x())),
            "rms_norm: epsilon is 0, expected a finite number greater than 0"
        );
        let mut changed = norm();
        changed.partial = Some(1.5);
        assert_eq!(
            refusal(|| changed.forward_add(x(), x())),
            "add_rms_norm: partial is 1.5, expected a fraction in (0, 1]"
        );
        let mut changed = norm();
        changed.groups = 3;
        assert_eq!(
            refusal(|| changed.forward_gated(x(), x(), GateOrder::BeforeNorm)),
            "gated_rms_norm: groups is 3 with d_model 4, expected a divisor of it"
        );
        let mut changed = norm();
        changed.gamma = Some(burn::module::Param::from_tensor(ones([3], device)));
        assert_eq!(
            refusal(|| changed.forward(x())),
            "rms_norm: gamma has 3 elements, x has d_model 4"
        );
        let mut changed = norm();
        changed.gamma = None;
        assert_eq!(
            refusal(|| changed.forward(x())),
            "rms_norm: beta is given without gamma, expected both"
        );
    });
}

/// What the module says in its own name, in all three of its ways.
#[test]
fn the_module_names_its_d_model() {
    on_every_device(|device| {
        let norm = RmsNormConfig::new(4).init(device);
        let x = || ones([2, 3], device);
        for text in [
            refusal(|| norm.forward(x())),
            refusal(|| norm.forward_add(x(), x()).0),
            refusal(|| norm.forward_gated(x(), x(), GateOrder::AfterNorm)),
        ] {
            assert_eq!(
                text,
                "RmsNorm: the last axis of x has 3 elements, expected d_model 4"
            );
        }
        let norm = RmsNormConfig::new(3).with_axis(2).init(device);
        assert_eq!(
            refusal(|| norm.forward(ones([2, 4, 5, 5], device))),
            "RmsNorm: axis 2 from the last of x has 4 elements, expected d_model 3"
        );
        assert_eq!(
            refusal(|| norm.forward(ones([2, 3], device))),
            "RmsNorm: axis is 2 from the last, x has 2 axes"
        );
    });
}

#[test]
fn heads() {
    let device = Device::flex();
    for (heads, head_dim, name) in [(0, 4, "heads"), (4, 0, "head_dim")] {
        assert_eq!(
            refusal(|| PerHeadRmsNormConfig::new(heads, head_dim).init(&device)),
            format!("PerHeadRmsNormConfig: {name} is 0, expected at least 1")
        );
    }
    for epsilon in [0.0, f64::NAN] {
        let config = PerHeadRmsNormConfig::new(2, 4).with_epsilon(epsilon);
        assert_eq!(
            refusal(|| config.init(&device)),
            format!(
                "PerHeadRmsNormConfig: epsilon is {epsilon}, expected a finite number greater than 0"
            )
        );
    }
    let config = PerHeadRmsNormConfig::new(2, 4).with_partial(Some(1.5));
    assert_eq!(
        refusal(|| config.init(&device)),
        "PerHeadRmsNormConfig: partial is 1.5, expected a fraction in (0, 1]"
    );
    let options = RmsNormOptions::new(1e-5);
    on_every_device(|device| {
        let x = || ones([5, 2, 4], device);
        for shape in [[3, 4], [4, 2], [2, 3]] {
            let gamma = ones(shape, device);
            assert_eq!(
                refusal(|| per_head_rms_norm(x(), gamma, options)),
                format!(
                    "per_head_rms_norm: gamma has shape {shape:?}, x has [5, 2, 4], expected its last two axes"
                )
            );
        }
        let gamma = || ones([2, 4], device);
        assert_eq!(
            refusal(|| per_head_rms_norm(ones([4], device), gamma(), options)),
            "per_head_rms_norm: gamma has shape [2, 4], x has [4], expected its last two axes"
        );
        for (options, values) in [
            (options.with_groups(2), "groups is 2 and axis 0"),
            (options.with_axis(1), "groups is 1 and axis 1"),
        ] {
            assert_eq!(
                refusal(|| per_head_rms_norm(x(), gamma(), options)),
                format!("per_head_rms_norm: {values}, expected 1 and 0")
            );
        }
        assert_eq!(
            refusal(|| per_head_rms_norm(x(), gamma(), RmsNormOptions::new(-1.0))),
            "per_head_rms_norm: epsilon is -1, expected a finite number greater than 0"
        );
        assert_eq!(
            refusal(|| per_head_rms_norm(x(), gamma(), options.with_partial(Some(0.0)))),
            "per_head_rms_norm: partial is 0, expected a fraction in (0, 1]"
        );
        let norm = PerHeadRmsNormConfig::new(3, 4).init(device);
        assert_eq!(
            refusal(|| norm.forward(x())),
            "per_head_rms_norm: gamma has shape [3, 4], x has [5, 2, 4], expected its last two axes"
        );
    });
}
