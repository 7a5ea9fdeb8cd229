//! Nothing that somebody else can see is overwritten: a clone, a view, a slice, the rows around it.

use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_fused_norm::{RmsNormOptions, rms_norm};
use fused_norm_testkit::patterns::{g, p};
use fused_norm_testkit::{AffineForm, Case, FloatKind, Quantity, Trial};

use crate::common::layer::Layer;
use crate::common::{bits, devices, filled, values};

const EPSILON: f64 = 1e-5;

fn norm(x: Tensor<2>, gamma: &Tensor<1>) -> Tensor<2> {
    rms_norm(x, Some(gamma.clone()), None, RmsNormOptions::new(EPSILON))
}

#[test]
fn who_keeps_a_handle_keeps_its_values() {
    for (name, device) in devices::selected() {
        for device in [device.clone(), device.autodiff()] {
            let gamma = filled([33], &device, g);
            let x = filled::<2>([8, 33], &device, p);
            let kept = [
                x.clone(),
                x.clone().swap_dims(0, 1),
                x.clone().narrow(0, 2, 3),
                x.clone().slice([0..8, 5..21]),
            ];
            let before = kept.clone().map(bits);
            let y = values(norm(x, &gamma));
            assert_eq!(kept.map(bits), before, "{name} {device:?}");
            assert_eq!(y.len(), 8 * 33);
        }
    }
}

#[test]
fn a_tensor_is_used_again_after_the_norm() {
    let case = Case::new("used_again", FloatKind::F32, &[8, 33]).affine(AffineForm::Scale);
    for (name, device) in devices::selected() {
        for device in [device.clone(), device.autodiff()] {
            let gamma = filled([33], &device, g);
            let x = filled::<2>([8, 33], &device, p);
            let out = x.clone() + norm(x.clone(), &gamma);
            // P is a multiple of 1/32, so this takes away all that was added, but for one rounding.
            let y = out.clone() - x;
            let layer = Layer {
                name,
                device: &device,
            };
            let trial = Trial::new(&layer, &case);
            let (y, exact) = (values(y), &trial.forward().y.values);
            for ((y, exact), out) in y.iter().zip(exact).zip(values(out)) {
                let allowed = 1e-6 * exact.abs() + 1.2e-7 * out.abs();
                assert!(
                    (y - exact).abs() <= allowed,
                    "{name}: {y}, expected {exact}"
                );
            }
            let alone = trial.compare(
                Quantity::Y,
                &values(norm(filled([8, 33], &device, p), &gamma)),
            );
            assert!(alone.is_ok(), "{name}: {alone:?}");
        }
    }
}

/// Odd rows of 16 bits: a store that is wider than an element would end in the next row.
#[test]
fn rows_beside_a_slice_are_left_alone() {
    const ROW_LEN: usize = 769;
    for (name, device) in devices::selected() {
        let dtype = match device.supports_dtype(DType::F16) {
            true => DType::F16,
            false => DType::F32,
        };
        let base: Vec<f64> = (0..8 * ROW_LEN).map(p).collect();
        let base = Tensor::<2>::from_data(TensorData::new(base, [8, ROW_LEN]), (&device, dtype));
        let gamma: Vec<f64> = (0..ROW_LEN).map(g).collect();
        let gamma = Tensor::<1>::from_data(TensorData::new(gamma, [ROW_LEN]), (&device, dtype));
        let (before, whole) = (bits(base.clone()), bits(norm(base.clone(), &gamma)));
        for _ in 0..20 {
            let part = bits(norm(base.clone().narrow(0, 0, 7), &gamma));
            assert!(part == whole[..7 * ROW_LEN], "{name}: rows 0 to 6");
            let last = bits(norm(base.clone().narrow(0, 7, 1), &gamma));
            assert!(last == whole[7 * ROW_LEN..], "{name}: row 7");
        }
        assert!(bits(base) == before, "{name}: x");
    }
}

/// With the only handle given away, an implementation may write over x, and dx over dy.
#[test]
fn a_gradient_that_is_the_input_itself() {
    for (name, device) in devices::selected() {
        let one = |device: &Device| filled::<1>([4], device, |i| f64::from(u8::from(i == 0)));
        let device = device.autodiff();
        let x = one(&device).require_grad();
        let y = rms_norm(x.clone(), None, None, RmsNormOptions::new(1e-4));
        let gradients = (y * x.clone().detach()).sum().backward();
        let dx = values(x.grad(&gradients).unwrap());
        // rstd·(1 − x²·rstd²/4) = rstd·epsilon·rstd²
        let exact = 1e-4 * (0.25_f64 + 1e-4).powf(-1.5);
        assert!(
            (dx[0] / exact - 1.0).abs() < 2e-3,
            "{name}: {dx:?}, expected {exact}"
        );
        assert_eq!(dx[1..], [0.0; 3], "{name}");
    }
}
