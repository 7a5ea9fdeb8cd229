//! Types that a device lacks, types that are none of ours, tensors of two devices.

use burn::backend::{Backend, Dispatch};
use burn::tensor::quantization::QuantScheme;
use burn::tensor::{Device, Tensor};
use burn_fused_norm::{
    GateOrder, RmsNormOptions, add_rms_norm, gated_rms_norm, per_head_rms_norm, rms_norm,
};
use fused_norm_testkit::{AffineForm, Case, FloatKind};

use crate::common::layer::{dtype, judged};
use crate::common::{self, devices, refusal, skipped};
use crate::{on_every_device, ones};

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
    assert!(
        text.ends_with("expected F64, F32, Flex32, F16 or BF16"),
        "{text}"
    );
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
            let lacks = usage.is_empty()
                || device.supports_dtype(dtype) && !devices::computes(&device, dtype);
            if lacks {
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
            let works = if devices::computes(&device, dtype) {
                kind
            } else {
                FloatKind::F32
            };
            let case = Case::new("of_a_type", works, &[3, 5]).affine(AffineForm::Scale);
            judged(name, &device, &case);
        }
    }
}
