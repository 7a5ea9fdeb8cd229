//! Several backends in one process, in turn and in both orders.

use burn_fused_norm::{RmsNormOptions, rms_norm};
use fused_norm_testkit::patterns::{g, p};
use fused_norm_testkit::{AffineForm, Case, FloatKind};

use crate::common::layer::{bits_of, judged};
use crate::common::{devices, filled, refusal};

#[test]
fn backends_take_turns() {
    let case = Case::new("turns", FloatKind::F32, &[4, 33]).affine(AffineForm::ScaleShift);
    let mut devices = devices::selected();
    let mut first = std::collections::BTreeMap::new();
    for _ in 0..3 {
        for (name, device) in &devices {
            let bits = bits_of(&judged(name, device, &case));
            assert!(
                *first.entry(*name).or_insert(bits.clone()) == bits,
                "{name}"
            );
        }
        devices.reverse();
    }
}

/// A tracked tensor of one backend does not reach another's implementation.
#[test]
fn tensors_of_two_backends_are_refused() {
    let devices = devices::selected();
    for (name, device) in &devices {
        for (other, elsewhere) in &devices {
            if name == other {
                continue;
            }
            for tracked in [false, true] {
                let place = |device: &burn::tensor::Device| match tracked {
                    true => device.clone().autodiff(),
                    false => device.clone(),
                };
                let x = filled::<2>([4, 33], &place(device), p);
                let gamma = filled::<1>([33], &place(elsewhere), g);
                let text = refusal(|| rms_norm(x, Some(gamma), None, RmsNormOptions::new(1e-5)));
                assert!(
                    text.starts_with("rms_norm: gamma is on Device"),
                    "{name}, {other}: {text}"
                );
                assert!(text.contains(", x is on Device"), "{name}, {other}: {text}");
            }
        }
    }
}
