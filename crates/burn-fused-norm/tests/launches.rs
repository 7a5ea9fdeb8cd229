//! On CubeCL devices the kernels are ours, and no more of them than needed: launches, counted through
//! Dispatch, Fusion and Autodiff.
#![cfg(feature = "cube")]

mod common;

use std::sync::{Arc, Mutex};

use burn::module::Module;
use burn::tensor::{DType, Device, Distribution, Tensor};
use burn_cubecl::cubecl::logging::{LaunchObservation, LaunchObserver};
use burn_fused_norm::{RmsNormConfig, RmsNormOptions, rms_norm};

#[derive(Default)]
struct Launches(Mutex<Vec<&'static str>>);

impl LaunchObserver for Launches {
    fn launched(&self, kernel: &'static str) {
        self.0.lock().unwrap().push(kernel);
    }
}

/// Observations are the process's: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// The CubeCL devices of this build, as far as `NORM_DEVICES` names them.
fn devices() -> Vec<Device> {
    let selected = common::devices::selected().into_iter();
    let devices: Vec<Device> = selected
        .filter(|(name, _)| !common::devices::is_native(name))
        .map(|(_, device)| device)
        .collect();
    assert!(
        !devices.is_empty(),
        "NORM_DEVICES names no CubeCL device of this build"
    );
    devices
}

/// The kernels that `work` launches, after all that was queued before it, and what it returns.
fn launched<T>(device: &Device, work: impl FnOnce() -> T) -> (T, Vec<&'static str>) {
    device.sync().unwrap();
    let launches = Arc::new(Launches::default());
    let watching = LaunchObservation::new(launches.clone());
    let result = work();
    device.sync().unwrap();
    drop(watching);
    let launches = launches.0.lock().unwrap().clone();
    (result, launches)
}

fn random<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::random(shape, Distribution::Normal(0.0, 1.0), device)
}

/// A kernel of this crate, by its module: the names are those of the kernels' types.
fn ours(name: &str, module: &str) -> bool {
    name.contains(&format!("fused_norm_kernels::cube::kernels::{module}"))
}

#[test]
fn a_forward_pass_is_one_kernel_of_ours() {
    let _alone = ALONE.lock();
    for device in devices() {
        for row_len in [1, 64, 1000, 4096, 40_000] {
            let norm = RmsNormConfig::new(row_len).with_bias(true).init(&device);
            let _ready = norm.forward(random([2, row_len], &device));
            let x = random([2, 3, row_len], &device);
            let (_y, launches) = launched(&device, || norm.forward(x));
            assert_eq!(launches.len(), 1, "{device:?} {row_len}: {launches:?}");
            assert!(ours(launches[0], "forward_"), "{device:?}: {launches:?}");
        }
    }
}

/// Flex32 is kept in 32 bits, and computed in f32 by the same kernel.
#[test]
fn flex32_is_one_kernel_of_ours() {
    let _alone = ALONE.lock();
    for device in devices() {
        if !device.supports_dtype(DType::Flex32) {
            common::skipped(&format!("{device:?} has no Flex32"));
            continue;
        }
        let normal = Distribution::Normal(0.0, 1.0);
        let x = Tensor::<2>::random([3, 64], normal, (&device, DType::Flex32));
        let gamma = Tensor::<1>::random([64], normal, (&device, DType::Flex32));
        let options = RmsNormOptions::new(1e-5);
        let norm = || rms_norm(x.clone(), Some(gamma.clone()), None, options);
        let (y, launches) = launched(&device, norm);
        assert_eq!(launches.len(), 1, "{device:?}: {launches:?}");
        assert!(ours(launches[0], "forward_"), "{device:?}: {launches:?}");
        assert_eq!(y.dtype(), DType::Flex32);
    }
}

/// Rows of one pitch: the q part of a joint projection, the heads of a split one, a broadcast row.
#[test]
fn views_of_rows_are_read_where_they_are() {
    let _alone = ALONE.lock();
    for device in devices() {
        let joint = random([4, 16, 3 * 64], &device);
        let row = random([1, 64], &device);
        device.sync().unwrap();
        let views = [
            ("narrowed", joint.clone().narrow(2, 64, 64)),
            ("first part", joint.clone().narrow(2, 0, 64)),
            ("broadcast", row.expand([6, 64]).unsqueeze()),
        ];
        for (name, view) in views {
            let (_y, launches) = launched(&device, || {
                rms_norm(view, None, None, RmsNormOptions::new(1e-5))
            });
            let copies = launches.iter().filter(|name| !ours(name, "")).count();
            assert_eq!(copies, 0, "{device:?} {name}: {launches:?}");
            assert_eq!(launches.len(), 1, "{device:?} {name}: {launches:?}");
        }
    }
}

#[test]
fn a_backward_pass_is_at_most_two_kernels_of_ours() {
    let _alone = ALONE.lock();
    for device in devices() {
        let device = device.autodiff();
        for (row_len, rows) in [(64, 5), (1000, 300), (4096, 9), (40_000, 2)] {
            let norm = RmsNormConfig::new(row_len).with_bias(true).init(&device);
            let x = random([rows, row_len], &device).require_grad();
            let step = || {
                let gradients = norm.forward(x.clone()).sum().backward();
                (x.grad(&gradients), gradients)
            };
            step();
            let (_, launches) = launched(&device.clone(), step);
            let count = |part: &str| launches.iter().filter(|name| ours(name, part)).count();
            let backward = count("backward_") + count("columns") + count("reduce");
            assert_eq!(count("forward_"), 1, "{device:?} {row_len}: {launches:?}");
            assert!(
                (1..=2).contains(&backward),
                "{device:?} {row_len}: {launches:?}"
            );
        }
    }
}

/// A frozen gamma costs no sum over rows.
#[test]
fn a_frozen_gamma_is_one_kernel_less() {
    let _alone = ALONE.lock();
    for device in devices() {
        let device = device.autodiff();
        for (row_len, rows) in [(64, 4096), (40_000, 2)] {
            let norm = RmsNormConfig::new(row_len).init(&device).no_grad();
            let x = random([rows, row_len], &device).require_grad();
            let step = || x.grad(&norm.forward(x.clone()).sum().backward());
            step();
            let (_, launches) = launched(&device, step);
            let count = |part: &str| launches.iter().filter(|name| ours(name, part)).count();
            assert_eq!(count("backward_"), 1, "{device:?} {row_len}: {launches:?}");
            assert_eq!(
                count("reduce") + count("columns"),
                0,
                "{device:?}: {launches:?}"
            );
        }
    }
}

/// What is refused is refused before anything is queued.
#[test]
fn a_refused_call_launches_nothing() {
    let _alone = ALONE.lock();
    for device in devices() {
        for device in [device.clone(), device.autodiff()] {
            let x = random([4, 64], &device);
            let gamma = random([63], &device);
            let options = RmsNormOptions::new(1e-5);
            let (refused, launches) = launched(&device, || {
                let call = || rms_norm(x.clone(), Some(gamma.clone()), None, options);
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err()
            });
            assert!(refused, "{device:?}");
            assert!(launches.is_empty(), "{device:?}: {launches:?}");
        }
    }
}
