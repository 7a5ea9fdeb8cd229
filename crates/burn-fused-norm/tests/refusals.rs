//! Every mistake that is refused: the text, on the caller's thread, and the device usable after.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::prelude::*;
use burn::tensor::DType;
use burn_fused_norm::{RmsNormConfig, RmsNormOptions, rms_norm};

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
