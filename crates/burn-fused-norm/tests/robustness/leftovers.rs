//! Nothing of an earlier call is left in a later one: buffers, partial sums, accumulators.

use fused_norm_testkit::{AffineForm, Case, Fill, FloatKind, Subject, Want};

use crate::common::devices;
use crate::common::layer::{Layer, bits_of, judged};

#[test]
fn short_rows_after_long_ones() {
    let long = Case::new("before", FloatKind::F32, &[64, 4096])
        .affine(AffineForm::Scale)
        .fill(Fill::Constant(1e4));
    let short = Case::new("ramp_after", FloatKind::F32, &[3, 5])
        .affine(AffineForm::Scale)
        .epsilon(1e-8)
        .fill(Fill::Ramp)
        .gamma_fill(Fill::Constant(1.0))
        .dy_fill(Fill::Constant(1.0));
    for (name, device) in devices::selected() {
        let layer = Layer {
            name,
            device: &device,
        };
        let first = judged(name, &device, &short);
        assert!(
            (first.y[0] - 0.301511).abs() < 1e-6,
            "{name}: {}",
            first.y[0]
        );
        let first = bits_of(&first);
        for turn in 0..50 {
            let want = if turn % 5 == 0 {
                Want::all(&long)
            } else {
                Want::NOTHING
            };
            layer.run(&long, want).unwrap();
            let again = layer.run(&short, Want::all(&short)).unwrap();
            assert!(bits_of(&again) == first, "{name}, turn {turn}");
        }
    }
}

/// As many rows as columns, and no symmetry between them.
#[test]
fn gradients_do_not_add_up_from_call_to_call() {
    let square = Case::new("square", FloatKind::F32, &[8, 8]).affine(AffineForm::ScaleShift);
    let garbage = Case::new("garbage", FloatKind::F32, &[64, 8])
        .affine(AffineForm::ScaleShift)
        .dy_fill(Fill::Constant(1e6));
    for (name, device) in devices::selected() {
        let layer = Layer {
            name,
            device: &device,
        };
        let first = bits_of(&judged(name, &device, &square));
        for _ in 0..3 {
            layer.run(&garbage, Want::all(&garbage)).unwrap();
            let again = layer.run(&square, Want::all(&square)).unwrap();
            assert!(bits_of(&again) == first, "{name}");
        }
    }
}

#[test]
fn the_gradient_of_gamma_of_zeros_is_zero_every_time() {
    let zeros = Case::new("only_zeros", FloatKind::F32, &[1, 4])
        .affine(AffineForm::Scale)
        .gamma_fill(Fill::Constant(1.0))
        .fill(Fill::Zeros)
        .dy_fill(Fill::Constant(-1.0));
    for (name, device) in devices::selected() {
        let layer = Layer {
            name,
            device: &device,
        };
        for _ in 0..10 {
            let outcome = layer.run(&zeros, Want::all(&zeros)).unwrap();
            assert_eq!(outcome.dgamma.unwrap().0, [0.0; 4], "{name}");
            for dx in outcome.dx.unwrap().0 {
                assert!((dx + 316.22777).abs() < 1e-3, "{name}: {dx}");
            }
        }
    }
}
