//! Every mistake that is refused: the text, on the caller's thread, and the device usable after.

mod common;

use burn::backend::{Backend, Dispatch};
use burn::prelude::*;
use burn::tensor::DType;
use burn::tensor::quantization::QuantScheme;
use burn_fused_norm::{
    GateOrder, PerHeadRmsNormConfig, RmsNormConfig, RmsNormOptions, Rounding, add_rms_norm,
    gated_rms_norm, per_head_rms_norm, rms_norm,
};
use common::layer::{dtype, judged};
use common::{devices, refusal, skipped};
use fused_norm_testkit::{AffineForm, Case, FloatKind};

/// A mistake on every device, with gradients and without. Each must be as usable after it as before.
fn on_every_device(mistakes: impl Fn(&Device)) {
    let good = Case::new("after_a_refusal", FloatKind::F32, &[3, 5]).affine(AffineForm::ScaleShift);
    for (name, device) in devices::selected() {
        mistakes(&device);
        mistakes(&device.clone().autodiff());
        device.sync().expect("nothing failed in the queue");
        judged(name, &device, &good);
    }
}

fn ones<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::ones(shape, device)
}

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

#[test]
fn tensors() {
    let options = RmsNormOptions::new(1e-5);
    on_every_device(|device| {
        let x = || ones([2, 4], device);
        let row = |len| Some(ones([len], device));
        assert_eq!(
            refusal(|| rms_norm(x(), row(3), None, options)),
            "rms_norm: gamma has 3 elements, x has d_model 4"
        );
        assert_eq!(
            refusal(|| rms_norm(x(), row(4), row(5), options)),
            "rms_norm: beta has 5 elements, x has d_model 4"
        );
        assert_eq!(
            refusal(|| rms_norm(x(), None, row(4), options)),
            "rms_norm: beta is given without gamma, expected both"
        );
        assert_eq!(
            refusal(|| rms_norm(ones([2, 0], device), None, None, options)),
            "rms_norm: the last axis of x is empty ([2, 0]), expected at least 1 element"
        );
        for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(
                refusal(|| rms_norm(x(), None, None, RmsNormOptions::new(epsilon))),
                format!("rms_norm: epsilon is {epsilon}, expected a finite number greater than 0")
            );
        }
        for partial in [0.0, -0.5, 2.0, f64::NAN] {
            assert_eq!(
                refusal(|| rms_norm(x(), None, None, options.with_partial(Some(partial)))),
                format!("rms_norm: partial is {partial}, expected a fraction in (0, 1]")
            );
        }
        for groups in [0, 3, 8] {
            assert_eq!(
                refusal(|| rms_norm(x(), None, None, options.with_groups(groups))),
                format!("rms_norm: groups is {groups} with d_model 4, expected a divisor of it")
            );
        }
        assert_eq!(
            refusal(|| rms_norm(x(), None, None, options.with_axis(2))),
            "rms_norm: axis is 2 from the last, x has 2 axes"
        );
        assert_eq!(
            refusal(|| rms_norm(ones([4], device), None, None, options.with_axis(1))),
            "rms_norm: axis is 1 from the last, x has 1 axes"
        );
        assert_eq!(
            refusal(|| rms_norm(ones([0, 6], device), None, None, options.with_axis(1))),
            "rms_norm: axis 1 from the last of x is empty ([0, 6]), expected at least 1 element"
        );
        // Of the axis, not of the last.
        assert_eq!(
            refusal(|| rms_norm(ones([2, 4], device), row(4), None, options.with_axis(1))),
            "rms_norm: gamma has 4 elements, x has d_model 2"
        );
    });
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

#[test]
fn second_tensors() {
    let options = RmsNormOptions::new(1e-5);
    let order = GateOrder::AfterNorm;
    on_every_device(|device| {
        let x = || ones([2, 4], device);
        for shape in [[1, 4], [2, 5], [4, 2]] {
            assert_eq!(
                refusal(|| add_rms_norm(x(), ones(shape, device), None, None, options)),
                format!("add_rms_norm: residual has shape {shape:?}, x has [2, 4]")
            );
            assert_eq!(
                refusal(|| gated_rms_norm(x(), ones(shape, device), None, None, order, options)),
                format!("gated_rms_norm: gate has shape {shape:?}, x has [2, 4]")
            );
        }
        let rounded = options.with_rounding(Rounding::BeforeGamma);
        assert_eq!(
            refusal(|| gated_rms_norm(x(), x(), None, None, order, rounded)),
            "gated_rms_norm: rounding is BeforeGamma, expected Once"
        );
        assert_eq!(
            refusal(|| add_rms_norm(x(), x(), Some(ones([3], device)), None, options)),
            "add_rms_norm: gamma has 3 elements, x has d_model 4"
        );
        assert_eq!(
            refusal(|| gated_rms_norm(x(), x(), None, Some(ones([4], device)), order, options)),
            "gated_rms_norm: beta is given without gamma, expected both"
        );
        for (options, text) in [
            (
                RmsNormOptions::new(0.0),
                "epsilon is 0, expected a finite number greater than 0",
            ),
            (
                options.with_partial(Some(2.0)),
                "partial is 2, expected a fraction in (0, 1]",
            ),
            (
                options.with_groups(3),
                "groups is 3 with d_model 4, expected a divisor of it",
            ),
            (
                options.with_axis(5),
                "axis is 5 from the last, x has 2 axes",
            ),
        ] {
            assert_eq!(
                refusal(|| add_rms_norm(x(), x(), None, None, options)),
                format!("add_rms_norm: {text}")
            );
            assert_eq!(
                refusal(|| gated_rms_norm(x(), x(), None, None, order, options)),
                format!("gated_rms_norm: {text}")
            );
        }
        let other = [DType::F64, DType::F16]
            .into_iter()
            .find(|dtype| device.supports_dtype(*dtype));
        let Some(other) = other else {
            return skipped(&format!("{device:?} has no type beside f32"));
        };
        let of_other_type = || Tensor::<2>::ones([2, 4], (device, other));
        assert_eq!(
            refusal(|| add_rms_norm(x(), of_other_type(), None, None, options)),
            format!("add_rms_norm: residual has type {other:?}, x has F32")
        );
        assert_eq!(
            refusal(|| gated_rms_norm(x(), of_other_type(), None, None, order, options)),
            format!("gated_rms_norm: gate has type {other:?}, x has F32")
        );
    });
}

#[test]
fn tensors_of_two_devices() {
    let options = RmsNormOptions::new(1e-5);
    on_every_device(|device| {
        let elsewhere = match *device == common::ndarray() {
            true => Device::flex(),
            false => common::ndarray(),
        };
        let elsewhere = match device.is_autodiff() {
            true => elsewhere.autodiff(),
            false => elsewhere,
        };
        let x = || ones([2, 4], device);
        let there = || ones([2, 4], &elsewhere);
        let row = |device: &Device| Some(ones([4], device));
        let order = GateOrder::BeforeNorm;
        let heads = ones([2, 2, 4], device);
        for (name, text) in [
            (
                "rms_norm: gamma",
                refusal(|| rms_norm(x(), row(&elsewhere), None, options)),
            ),
            (
                "rms_norm: beta",
                refusal(|| rms_norm(x(), row(device), row(&elsewhere), options)),
            ),
            (
                "add_rms_norm: residual",
                refusal(|| add_rms_norm(x(), there(), None, None, options)),
            ),
            (
                "gated_rms_norm: gate",
                refusal(|| gated_rms_norm(x(), there(), None, None, order, options)),
            ),
            (
                "per_head_rms_norm: gamma",
                refusal(|| per_head_rms_norm(heads, there(), options)),
            ),
        ] {
            let expected = format!("{name} is on {elsewhere:?}, x is on {device:?}");
            assert_eq!(text, expected);
        }
    });
}

#[test]
fn quantised_tensors() {
    let options = RmsNormOptions::new(1e-5);
    let device = Device::flex();
    let quantised = || ones([2, 32], &device).quantize_dynamic(&QuantScheme::default());
    let text = refusal(|| rms_norm(quantised(), None, None, options));
    assert!(text.starts_with("rms_norm: x has type QFloat"), "{text}");
    assert!(text.ends_with("expected F64, F32, F16 or BF16"), "{text}");
    let text = refusal(|| add_rms_norm(ones([2, 32], &device), quantised(), None, None, options));
    assert!(
        text.starts_with("add_rms_norm: residual has type QFloat"),
        "{text}"
    );
}

/// Each type works, or is refused by name; both leave a device that works.
#[test]
fn types_that_a_device_lacks() {
    let options = RmsNormOptions::new(1e-5);
    for (name, device) in devices::selected() {
        for kind in FloatKind::ALL {
            let dtype = dtype(kind);
            let usage = Dispatch::dtype_usage(device.as_dispatch(), dtype);
            if usage.is_empty() {
                let lacking = |shape| Tensor::<2>::ones(shape, (&device, dtype));
                let row = || Some(Tensor::<1>::ones([4], (&device, dtype)));
                for (tensor, text) in [
                    (
                        "x",
                        refusal(|| rms_norm(lacking([2, 4]), None, None, options)),
                    ),
                    (
                        "gamma",
                        refusal(|| rms_norm(ones([2, 4], &device), row(), None, options)),
                    ),
                ] {
                    // NdArray has no such tensor at all.
                    let whose = match name {
                        "ndarray" => format!("{dtype:?}"),
                        _ => {
                            format!("rms_norm: {tensor} has type {dtype:?}, which {device:?} lacks")
                        }
                    };
                    assert!(text.contains(&whose), "{name}: {text}");
                }
            } else if !device.supports_dtype(dtype) {
                skipped(&format!("{name} can store {dtype:?} and not compute in it"));
            }
            let works = if device.supports_dtype(dtype) {
                kind
            } else {
                FloatKind::F32
            };
            let case = Case::new("of_a_type", works, &[3, 5]).affine(AffineForm::Scale);
            judged(name, &device, &case);
        }
    }
}
