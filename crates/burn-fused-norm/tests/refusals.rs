//! Every mistake that is refused: the text, on the caller's thread, and the device usable after.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::prelude::*;
use burn::tensor::DType;
use burn_fused_norm::{
    GateOrder, PerHeadRmsNormConfig, RmsNormConfig, RmsNormOptions, Rounding, add_rms_norm,
    gated_rms_norm, per_head_rms_norm, rms_norm,
};

fn refusal<T>(mistake: impl FnOnce() -> T) -> String {
    let panic = catch_unwind(AssertUnwindSafe(mistake))
        .err()
        .expect("a refusal");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast::<&str>().expect("a text").to_string(),
    }
}

fn ones<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    Tensor::ones(shape, &Device::flex())
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

#[test]
fn tensors() {
    let options = RmsNormOptions::new(1e-5);
    let x = || ones([2, 4]);
    assert_eq!(
        refusal(|| rms_norm(x(), Some(ones([3])), None, options)),
        "rms_norm: gamma has 3 elements, x has d_model 4"
    );
    assert_eq!(
        refusal(|| rms_norm(x(), Some(ones([4])), Some(ones([5])), options)),
        "rms_norm: beta has 5 elements, x has d_model 4"
    );
    assert_eq!(
        refusal(|| rms_norm(x(), None, Some(ones([4])), options)),
        "rms_norm: beta is given without gamma, expected both"
    );
    assert_eq!(
        refusal(|| rms_norm(ones([2, 0]), None, None, options)),
        "rms_norm: the last axis of x is empty ([2, 0]), expected at least 1 element"
    );
    for epsilon in [0.0, -1.0, f64::NAN] {
        assert_eq!(
            refusal(|| rms_norm(x(), None, None, RmsNormOptions::new(epsilon))),
            format!("rms_norm: epsilon is {epsilon}, expected a finite number greater than 0")
        );
    }
    assert_eq!(
        refusal(|| rms_norm(x(), None, None, options.with_partial(Some(2.0)))),
        "rms_norm: partial is 2, expected a fraction in (0, 1]"
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
    let options = RmsNormOptions::new(1e-5);
    assert_eq!(
        refusal(|| rms_norm(ones([2, 6]), None, None, options.with_groups(4))),
        "rms_norm: groups is 4 with d_model 6, expected a divisor of it"
    );
    assert_eq!(
        refusal(|| rms_norm(ones([2, 6]), None, None, options.with_axis(2))),
        "rms_norm: axis is 2 from the last, x has 2 axes"
    );
    assert_eq!(
        refusal(|| rms_norm(ones([0, 6]), None, None, options.with_axis(1))),
        "rms_norm: axis 1 from the last of x is empty ([0, 6]), expected at least 1 element"
    );
    let norm = RmsNormConfig::new(3).with_axis(2).init(&device);
    assert_eq!(
        refusal(|| norm.forward(ones([2, 4, 5, 5]))),
        "RmsNorm: axis 2 from the last of x has 4 elements, expected d_model 3"
    );
    assert_eq!(
        refusal(|| norm.forward(ones([2, 3]))),
        "RmsNorm: axis is 2 from the last, x has 2 axes"
    );
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
    let options = RmsNormOptions::new(1e-5);
    for shape in [[3, 4], [4, 2], [2, 3]] {
        let gamma = Tensor::<2>::ones(shape, &device);
        assert_eq!(
            refusal(|| per_head_rms_norm(ones([5, 2, 4]), gamma, options)),
            format!(
                "per_head_rms_norm: gamma has shape {shape:?}, x has [5, 2, 4], expected its last two axes"
            )
        );
    }
    let gamma = || Tensor::<2>::ones([2, 4], &device);
    assert!(
        refusal(|| per_head_rms_norm(ones([4]), gamma(), options)).contains("x has [4]"),
        "one axis"
    );
    for (options, values) in [
        (options.with_groups(2), "groups is 2 and axis 0"),
        (options.with_axis(1), "groups is 1 and axis 1"),
    ] {
        assert_eq!(
            refusal(|| per_head_rms_norm(ones([5, 2, 4]), gamma(), options)),
            format!("per_head_rms_norm: {values}, expected 1 and 0")
        );
    }
}

#[test]
fn second_tensors() {
    let options = RmsNormOptions::new(1e-5);
    let x = || ones([2, 4]);
    let order = GateOrder::AfterNorm;
    for shape in [[1, 4], [2, 5], [4, 2]] {
        assert_eq!(
            refusal(|| add_rms_norm(x(), ones(shape), None, None, options)),
            format!("add_rms_norm: residual has shape {shape:?}, x has [2, 4]")
        );
        assert_eq!(
            refusal(|| gated_rms_norm(x(), ones(shape), None, None, order, options)),
            format!("gated_rms_norm: gate has shape {shape:?}, x has [2, 4]")
        );
    }
    let wide = || Tensor::<2>::ones([2, 4], (&Device::flex(), DType::F64));
    assert_eq!(
        refusal(|| add_rms_norm(x(), wide(), None, None, options)),
        "add_rms_norm: residual has type F64, x has F32"
    );
    assert_eq!(
        refusal(|| gated_rms_norm(x(), wide(), None, None, order, options)),
        "gated_rms_norm: gate has type F64, x has F32"
    );
    let elsewhere = || Tensor::<2>::ones([2, 4], &common::ndarray());
    let text = refusal(|| add_rms_norm(x(), elsewhere(), None, None, options));
    assert!(
        text.starts_with("add_rms_norm: residual is on Device<NdArray"),
        "{text}"
    );
    let text = refusal(|| gated_rms_norm(x(), elsewhere(), None, None, order, options));
    assert!(
        text.starts_with("gated_rms_norm: gate is on Device<NdArray"),
        "{text}"
    );

    let rounded = options.with_rounding(Rounding::BeforeGamma);
    assert_eq!(
        refusal(|| gated_rms_norm(x(), x(), None, None, order, rounded)),
        "gated_rms_norm: rounding is BeforeGamma, expected Once"
    );
    assert_eq!(
        refusal(|| add_rms_norm(x(), x(), Some(ones([3])), None, options)),
        "add_rms_norm: gamma has 3 elements, x has d_model 4"
    );
    assert_eq!(
        refusal(|| gated_rms_norm(x(), x(), None, Some(ones([4])), order, options)),
        "gated_rms_norm: beta is given without gamma, expected both"
    );
}

#[test]
fn the_module_names_its_d_model() {
    let norm = RmsNormConfig::new(4).init(&Device::flex());
    assert_eq!(
        refusal(|| norm.forward(ones([2, 3]))),
        "RmsNorm: the last axis of x has 3 elements, expected d_model 4"
    );
}

#[test]
fn tensors_of_two_devices() {
    let gamma = Tensor::<1>::ones([4], &common::ndarray());
    let text = refusal(|| rms_norm(ones([2, 4]), Some(gamma), None, RmsNormOptions::new(1e-5)));
    assert!(
        text.starts_with("rms_norm: gamma is on Device<NdArray"),
        "{text}"
    );
    assert!(text.contains("x is on Device<Flex"), "{text}");
}

#[test]
fn a_type_that_a_device_lacks() {
    let device = common::ndarray();
    for dtype in [DType::F16, DType::BF16] {
        assert!(!device.supports_dtype(dtype));
        let text = refusal(|| {
            let x = Tensor::<2>::ones([2, 4], (&device, dtype));
            rms_norm(x, None, None, RmsNormOptions::new(1e-5)).into_data()
        });
        assert!(text.contains(&format!("{dtype:?}")), "{text}");
    }
}

#[test]
fn the_device_is_usable_after_a_refusal() {
    let options = RmsNormOptions::new(1e-6);
    refusal(|| rms_norm(ones([2, 4]), Some(ones([3])), None, options));
    let y = rms_norm(ones([2, 4]), Some(ones([4])), None, options).into_data();
    assert_eq!(y.try_to_vec::<f32>().unwrap(), [0.9999995; 8]);
}
