//! A batch is the rows that it is made of, whoever else is working on the device.

use fused_norm_testkit::{AffineForm, Case, Fill, FloatKind, Outcome, Subject, Want};

use crate::common::layer::{Layer, bits_of, judged};
use crate::common::{assert_near, devices};

const ROW_LEN: usize = 33;

fn batch() -> Case {
    Case::new("batch", FloatKind::F32, &[64, ROW_LEN]).affine(AffineForm::Scale)
}

/// Rows `start..end` of the batch.
fn part(start: usize, end: usize) -> Case {
    let rows = |values: Vec<f64>| Fill::given(values[start * ROW_LEN..end * ROW_LEN].to_vec());
    let whole = batch();
    Case::new("part", FloatKind::F32, &[end - start, ROW_LEN])
        .affine(AffineForm::Scale)
        .fill(rows(whole.x()))
        .dy_fill(rows(whole.dy()))
}

fn parts_add_up(layer: &Layer, whole: &Outcome) {
    let mut dx = vec![];
    let mut dgamma = vec![0.0; ROW_LEN];
    for (start, end) in [(0, 40), (40, 63), (63, 64)] {
        let part = part(start, end);
        let outcome = layer.run(&part, Want::all(&part)).unwrap();
        dx.extend(outcome.dx.unwrap().0);
        let of_part = outcome.dgamma.unwrap().0;
        dgamma
            .iter_mut()
            .zip(of_part)
            .for_each(|(sum, part)| *sum += part);
    }
    let of_whole = |gradient: &Option<(Vec<f64>, FloatKind)>| gradient.clone().unwrap().0;
    assert!(dx == of_whole(&whole.dx), "{}: dx", layer.name);
    assert_near(layer.name, &dgamma, &of_whole(&whole.dgamma), 1e-6);
}

#[test]
fn parts_add_up_to_the_whole() {
    for (name, device) in devices::selected() {
        let layer = Layer {
            name,
            device: &device,
        };
        let whole = judged(name, &device, &batch());
        parts_add_up(&layer, &whole);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        let again = layer.run(&batch(), Want::all(&batch())).unwrap();
                        assert!(bits_of(&again) == bits_of(&whole), "{name}");
                        parts_add_up(&layer, &whole);
                    }
                });
            }
        });
    }
}

#[test]
fn twenty_runs_give_the_same_gradients() {
    let case = Case::new("again", FloatKind::F32, &[4096, 256]).affine(AffineForm::Scale);
    for (name, device) in devices::selected() {
        let layer = Layer {
            name,
            device: &device,
        };
        let run = || bits_of(&layer.run(&case, Want::all(&case)).unwrap());
        let first = run();
        for _ in 1..20 {
            assert!(run() == first, "{name}");
        }
    }
}
