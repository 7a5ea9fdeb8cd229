//! What `add_rms_norm` and `gated_rms_norm` refuse.

use burn::backend::Dispatch;
use burn::tensor::{DType, Tensor};
use burn_fused_norm::ops::add_rms_norm::AddRmsNormOps;
use burn_fused_norm::ops::gated_rms_norm::{GatedRmsNormOps, GatedSettings};
use burn_fused_norm::ops::rms_norm::{Affine, RmsNormOps, Settings};
use burn_fused_norm::{GateOrder, RmsNormOptions, Rounding, add_rms_norm, gated_rms_norm};

use crate::common::{refusal, skipped};
use crate::{on_every_device, ones};

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

/// What the kernels refuse of arguments that the public functions cannot make, in the call or, with
/// Fusion, when its result is read.
#[test]
fn the_kernels_refuse_in_the_name_of_the_operation() {
    let wrong = Settings {
        epsilon: 0.0,
        ..RmsNormOptions::new(1e-5).settings(4)
    };
    on_every_device(|device| {
        let x = || ones([2, 4], device).into_dispatch();
        let rows = |tensor| Tensor::<2>::from_dispatch(tensor).into_data();
        for (operation, text) in [
            (
                "rms_norm",
                refusal(|| rows(Dispatch::rms_norm(x(), Affine::None, wrong))),
            ),
            (
                "add_rms_norm",
                refusal(|| rows(Dispatch::add_rms_norm(x(), x(), Affine::None, wrong).0)),
            ),
            (
                "gated_rms_norm",
                refusal(|| {
                    let wrong = GatedSettings {
                        norm: wrong,
                        order: GateOrder::BeforeNorm,
                    };
                    rows(Dispatch::gated_rms_norm(x(), x(), Affine::None, wrong))
                }),
            ),
        ] {
            // With Fusion it is read later, as the cause of another text.
            let own = text.lines().last().map(str::trim);
            let expected = "epsilon is 0, expected a finite number greater than 0";
            assert_eq!(own, Some(&*format!("{operation}: {expected}")), "{text}");
        }
    });
}
