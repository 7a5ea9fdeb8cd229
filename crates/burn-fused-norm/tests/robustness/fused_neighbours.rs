//! The norm between operations that Burn may fuse, reorder and defer.

use burn::module::Module;
use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_fused_norm::{RmsNorm, RmsNormConfig, RmsNormOptions, rms_norm};
use fused_norm_testkit::patterns::{p, q};
use fused_norm_testkit::{AffineForm, Case, Fill, FloatKind, Quantity, Trial};

use crate::common::layer::{Layer, judged, parameter};
use crate::common::{devices, filled, skipped, values};

#[test]
fn arithmetic_on_both_sides() {
    // P + 1 and 2·y are exact.
    let around: Vec<f64> = (0..4 * 33).map(|i| p(i) + 1.0).collect();
    let case = Case::new("neighbours", FloatKind::F32, &[4, 33])
        .affine(AffineForm::Scale)
        .fill(Fill::given(around))
        .dy_fill(Fill::Constant(2.0));
    for (name, device) in devices::selected() {
        let layer = Layer {
            name,
            device: &device,
        };
        let trial = Trial::new(&layer, &case);
        let device = device.clone().autodiff();
        let gamma = parameter(case.gamma().unwrap(), FloatKind::F32, &device).require_grad();
        let x = filled::<2>([4, 33], &device, p).require_grad();
        let y = rms_norm(
            x.clone() + 1.0,
            Some(gamma.clone()),
            None,
            RmsNormOptions::new(case.epsilon),
        ) * 2.0;
        let gradients = y.clone().sum().backward();
        let halves: Vec<f64> = values(y).into_iter().map(|y| y / 2.0).collect();
        for (quantity, found) in [
            (Quantity::Y, halves),
            (Quantity::Dx, values(x.grad(&gradients).unwrap())),
            (Quantity::Dgamma, values(gamma.grad(&gradients).unwrap())),
        ] {
            if let Err(mismatch) = trial.compare(quantity, &found) {
                panic!("{name}: {mismatch}");
            }
        }
    }
}

#[test]
fn sixteen_bits_stay_sixteen_bits() {
    for (name, device) in devices::selected() {
        for dtype in [DType::F16, DType::BF16] {
            if !devices::computes(&device, dtype) {
                skipped(&format!("{name} has no {dtype:?}"));
                continue;
            }
            let data: Vec<f64> = (0..4 * 33).map(p).collect();
            let x = Tensor::<2>::from_data(TensorData::new(data, [4, 33]), (&device, dtype));
            let y = rms_norm(x.clone() + 1.0, None, None, RmsNormOptions::new(1e-5));
            assert_eq!(y.dtype(), dtype, "{name}");
            let y = (y * 2.0).into_data();
            assert_eq!(y.dtype(), dtype, "{name}");
            let largest = y.iter::<f64>().fold(0.0_f64, |most, y| most.max(y.abs()));
            assert!((2.0..8.0).contains(&largest), "{name}: {largest}");
        }
    }
}

#[test]
fn outputs_that_nobody_reads() {
    let case = Case::new("after_dropped", FloatKind::F32, &[4, 33]).affine(AffineForm::Scale);
    for (name, device) in devices::selected() {
        for _ in 0..20 {
            let x = filled::<2>([4, 33], &device.clone().autodiff(), p).require_grad();
            let y = rms_norm(x, None, None, RmsNormOptions::new(1e-5));
            drop(y.clone() * 2.0);
            drop(y);
        }
        device.sync().unwrap();
        judged(name, &device, &case);
    }
}

/// Channels by reshape, swap, norm, swap and reshape, as before there was an axis to ask for.
fn channels(norm: &RmsNorm, x: Tensor<4>) -> Tensor<4> {
    let [n, c, h, w] = x.dims();
    let rows = x.reshape([n, c, h * w]).swap_dims(1, 2);
    norm.forward(rows).swap_dims(1, 2).reshape([n, c, h, w])
}

#[test]
fn channels_through_swapped_axes() {
    const SHAPE: [usize; 4] = [2, 6, 3, 5];
    let case = Case::new("channels", FloatKind::F32, &SHAPE)
        .axis(2)
        .affine(AffineForm::Scale);
    for (name, device) in devices::selected() {
        let layer = Layer {
            name,
            device: &device,
        };
        let trial = Trial::new(&layer, &case);
        let tracked = device.clone().autodiff();
        let trained = with_gamma(&case, &tracked);
        let x = filled::<4>(SHAPE, &tracked, p).require_grad();
        let y = channels(&trained, x.clone());
        let gradients = (y.clone() * filled(SHAPE, &tracked, q)).sum().backward();
        let y = values(y);
        let gamma = trained.gamma.as_ref().unwrap().val();
        for (quantity, found) in [
            (Quantity::Y, &y),
            (Quantity::Dx, &values(x.grad(&gradients).unwrap())),
            (Quantity::Dgamma, &values(gamma.grad(&gradients).unwrap())),
        ] {
            if let Err(mismatch) = trial.compare(quantity, found) {
                panic!("{name}: {mismatch}");
            }
        }
        // Loaded again, and without gradients.
        let bytes = trained.into_record().into_bytes().unwrap();
        let record = burn::store::ModuleRecord::from_bytes(bytes).unwrap();
        let loaded = RmsNormConfig::new(6).init(&device).load_record(record);
        let plain = channels(&loaded, filled(SHAPE, &device, p));
        assert!(
            values(plain) == y,
            "{name}: inference differs from training"
        );
    }
}

fn with_gamma(case: &Case, device: &Device) -> RmsNorm {
    let mut norm = RmsNormConfig::new(6)
        .with_epsilon(case.epsilon)
        .init(device);
    let gamma = parameter(case.gamma().unwrap(), FloatKind::F32, device);
    norm.gamma = Some(burn::module::Param::from_tensor(gamma.require_grad()));
    norm
}
