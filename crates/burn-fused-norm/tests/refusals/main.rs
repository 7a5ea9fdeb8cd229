//! Every mistake that is refused: the text, on the caller's thread, and the device usable after.

#[path = "../common/mod.rs"]
mod common;
mod configurations;
mod modules;
mod second_tensors;
mod tensors;
mod types_and_devices;

use burn::tensor::{Device, Tensor};
use common::devices;
use common::layer::judged;
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
