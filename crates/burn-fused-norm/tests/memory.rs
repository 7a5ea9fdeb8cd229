//! Resident memory stays where it is: outputs that are dropped, with and without a backward pass, and
//! training steps. A binary of its own, so that no other test allocates beside it.
#![cfg(target_os = "linux")]

mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};

use burn::module::Module;
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{Device, Tensor};
use burn_fused_norm::{RmsNorm, RmsNormConfig};
use common::{devices, filled};
use fused_norm_testkit::patterns::p;

/// What memory may grow by after the first tenth of the calls.
const SLACK_KIB: i64 = 5 * 1024;
const SHAPE: [usize; 2] = [8, 64];

/// One test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Resident memory of this process.
fn resident_kib() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.unwrap().trim().strip_suffix(" kB").unwrap();
    kib.trim().parse().unwrap()
}

/// Devices whose memory is this process's. A software Vulkan keeps pools of its own.
fn devices_in_memory() -> Vec<(&'static str, Device)> {
    let mut devices = devices::selected();
    devices.retain(|(name, _)| {
        let here = matches!(*name, "flex" | "ndarray" | "cpu");
        if !here {
            common::skipped(&format!("{name}: its memory is its driver's"));
        }
        here
    });
    devices
}

#[track_caller]
fn stays_level(name: &str, calls: usize, device: &Device, mut call: impl FnMut(usize)) {
    let mut first = 0;
    let mut most = 0;
    for index in 0..calls {
        call(index);
        if index % 100 == 99 {
            device.sync().unwrap();
        }
        if index + 1 == calls / 10 {
            first = resident_kib();
        }
        if index % 500 == 499 {
            most = most.max(resident_kib());
        }
    }
    let grown = most - first;
    println!(
        "{name}: {first} KiB after {} calls, {grown:+} KiB in the others",
        calls / 10
    );
    assert!(grown < SLACK_KIB, "{name}: {first} KiB, then {grown:+} KiB");
}

fn norm(device: &Device) -> RmsNorm {
    RmsNormConfig::new(SHAPE[1]).init(device)
}

fn tracked(device: &Device) -> Tensor<2> {
    filled(SHAPE, device, p).require_grad()
}

/// Burn keeps the graph of an output that was dropped until the next backward pass through the same
/// parameters, and frees it then.
#[test]
fn tracked_outputs_that_are_dropped() {
    let _alone = alone();
    for (name, device) in devices_in_memory() {
        let device = device.autodiff();
        let norm = norm(&device);
        stays_level(name, 10_000, &device, |index| {
            drop(norm.forward(tracked(&device)));
            if index % 500 == 499 {
                drop(norm.forward(tracked(&device)).sum().backward());
            }
        });
    }
}

#[test]
fn outputs_of_a_model_in_validation() {
    let _alone = alone();
    for (name, device) in devices_in_memory() {
        let norm = norm(&device.clone().autodiff()).valid();
        stays_level(name, 10_000, &device, |_| {
            drop(norm.forward(filled::<2>(SHAPE, &device, p)));
        });
    }
}

#[test]
fn tracked_outputs_of_which_half_go_backward() {
    let _alone = alone();
    for (name, device) in devices_in_memory() {
        let device = device.autodiff();
        let norm = norm(&device);
        stays_level(name, 10_000, &device, |index| {
            let x = tracked(&device);
            let y = norm.forward(x.clone());
            if index % 2 == 0 {
                let gradients = y.sum().backward();
                drop(x.grad(&gradients));
            }
        });
    }
}

#[test]
fn training_steps() {
    let _alone = alone();
    for (name, device) in devices_in_memory() {
        let device = device.autodiff();
        let mut optimizer = SgdConfig::new().init();
        let mut norm = Some(norm(&device));
        stays_level(name, 2000, &device, |_| {
            let trained = norm.take().unwrap();
            let y = trained.forward(filled::<2>(SHAPE, &device, p));
            let gradients = (y.clone() * y).sum().backward();
            let gradients = GradientsParams::from_grads(gradients, &trained);
            norm = Some(optimizer.step(1e-3, trained, gradients));
        });
    }
}
