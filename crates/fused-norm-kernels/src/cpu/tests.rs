//! What holds across entries: the same bits whatever the instruction set, and past the caches.

use alloc::vec::Vec;

use half::{bf16, f16};

use super::row::STREAM_BYTES;
use super::split::tests::BASELINE;
use super::{
    Added, Affine, Element, Gate, GatedGradients, GatedWanted, Gradients, Interleaved, Normalised,
    Rows, Wanted,
};
use crate::{GateOrder, Problem, Rounding};

/// What all entries return for the same rows.
#[derive(PartialEq)]
struct Everything<T: Element> {
    plain: (Vec<T>, Vec<T::Statistic>, Gradients<T>),
    in_steps: Vec<T>,
    added: Added<T>,
    gated: Vec<(Normalised<T>, GatedGradients<T>)>,
    interleaved: (Normalised<T>, Gradients<T>),
}

fn everything<T: Element>(rows: usize, row_len: usize) -> Everything<T> {
    let value = |i: usize| T::from_f64(((37 * i + 11) % 101) as f64 / 31.7 - 1.5);
    let many = |a: usize, b: usize| (0..rows * row_len).map(|i| value(a * i + b)).collect();
    let [x, dy, second]: [Vec<T>; 3] = [many(1, 0), many(3, 5), many(5, 1)];
    let gamma: Vec<T::Statistic> = (0..row_len).map(|i| value(7 * i).widen()).collect();
    let gamma = &gamma[..];
    let beta = gamma;
    let problem = Problem::new(rows, row_len, row_len.div_ceil(3), 1e-5).unwrap();
    let [x_rows, dy_rows, second] = [&x, &dy, &second].map(|rows| Rows::dense(rows, row_len));
    let wanted = Wanted {
        dx: true,
        dgamma: true,
        dbeta: true,
    };
    let gated_wanted = GatedWanted {
        dx: true,
        dgate: true,
        dgamma: true,
        dbeta: true,
    };

    let affine = Affine::Scale { gamma };
    let (y, rstd) = super::forward_with_rstd(&problem, x_rows, affine).unwrap();
    let gradients = super::backward(&problem, dy_rows, x_rows, &rstd, Some(gamma), wanted);
    let affine = Affine::ScaleShift { gamma, beta };
    let in_steps = problem.with_rounding(Rounding::BeforeGamma);
    let gated = [GateOrder::AfterNorm, GateOrder::BeforeNorm].map(|order| {
        let gate = Gate {
            rows: second,
            order,
        };
        let forward = super::gated_forward(&problem, x_rows, gate, affine, true).unwrap();
        let rstd = forward.rstd.as_ref().unwrap();
        let backward =
            super::gated_backward(&problem, dy_rows, x_rows, gate, rstd, affine, gated_wanted);
        (forward, backward.unwrap())
    });
    let [x_lines, dy_lines] = [&x, &dy].map(|lines| Interleaved::new(lines, rows, rows * row_len));
    let forward = super::interleaved_forward(&problem, x_lines, affine, true).unwrap();
    let rstd_of_lines = forward.rstd.as_ref().unwrap();
    let backward = super::interleaved_backward(
        &problem,
        dy_lines,
        x_lines,
        rstd_of_lines,
        Some(gamma),
        wanted,
    );
    Everything {
        plain: (y, rstd, gradients.unwrap()),
        in_steps: super::forward(&in_steps, x_rows, affine).unwrap(),
        added: super::add_forward(&problem, x_rows, second, affine, true).unwrap(),
        gated: gated.into(),
        interleaved: (forward, backward.unwrap()),
    }
}

fn same_bits_on_every_instruction_set<T: Element + PartialEq>() {
    for row_len in (1..100).chain([1000, 4097]) {
        for rows in [1, 3] {
            let best = everything::<T>(rows, row_len);
            BASELINE.set(true);
            let baseline = everything::<T>(rows, row_len);
            BASELINE.set(false);
            assert!(best == baseline, "{rows} rows of {row_len}");
        }
    }
}

#[test]
fn every_instruction_set_gives_the_same_bits() {
    same_bits_on_every_instruction_set::<f64>();
    same_bits_on_every_instruction_set::<f32>();
    same_bits_on_every_instruction_set::<f16>();
    same_bits_on_every_instruction_set::<bf16>();
}

/// Each variant of a problem that is written past the caches, and its last rows by themselves.
#[test]
fn large_variants_have_the_bits_of_small_ones() {
    for row_len in [1024, 1025] {
        let rows = STREAM_BYTES / size_of::<f32>() / row_len + 1;
        let value = |i: usize| ((37 * i + 11) % 101) as f32 / 31.7 - 1.5;
        let x: Vec<f32> = (0..rows * row_len).map(value).collect();
        let gamma: Vec<f32> = (0..row_len).map(value).collect();
        let affine = Affine::Scale { gamma: &gamma };
        let last = (rows - 3) * row_len;
        let [large, small] = [(rows, &x[..]), (3, &x[last..])].map(|(rows, x)| {
            let problem = Problem::new(rows, row_len, row_len, 1e-5).unwrap();
            let x = Rows::dense(x, row_len);
            let added = super::add_forward(&problem, x, x, affine, true).unwrap();
            let gated = [GateOrder::AfterNorm, GateOrder::BeforeNorm].map(|order| {
                let gate = Gate { rows: x, order };
                let forward = super::gated_forward(&problem, x, gate, affine, true).unwrap();
                let rstd = &forward.rstd.unwrap();
                let wanted = GatedWanted {
                    dx: true,
                    dgate: true,
                    dgamma: false,
                    dbeta: false,
                };
                let gradients = super::gated_backward(&problem, x, x, gate, rstd, affine, wanted);
                let gradients = gradients.unwrap();
                [forward.y, gradients.dx.unwrap(), gradients.dgate.unwrap()]
            });
            let mut all = gated.concat();
            all.extend([added.y, added.sum]);
            all
        });
        for (large, small) in large.iter().zip(&small) {
            assert!(large[last..] == small[..], "row_len {row_len}");
        }
    }
}

/// In place, nothing is written past the caches.
#[test]
fn large_outputs_have_the_bits_of_small_ones() {
    // Rows of an odd length start at every alignment.
    for row_len in [1024, 1025] {
        let rows = STREAM_BYTES / size_of::<f32>() / row_len + 1;
        let problem = Problem::new(rows, row_len, row_len, 1e-5).unwrap();
        let value = |i: usize| ((37 * i + 11) % 101) as f32 / 31.7 - 1.5;
        let x: Vec<f32> = (0..rows * row_len).map(value).collect();
        let gamma: Vec<f32> = (0..row_len).map(value).collect();
        let dense = Rows::dense(&x, row_len);
        let affine = Affine::Scale { gamma: &gamma };

        let (y, rstd) = super::forward_with_rstd(&problem, dense, affine).unwrap();
        let mut overwritten = x.clone();
        super::forward_in_place(&problem, &mut overwritten, affine).unwrap();
        assert!(y == overwritten, "y, row_len {row_len}");

        let wanted = Wanted {
            dx: true,
            dgamma: true,
            dbeta: false,
        };
        let mut dy = y;
        let from = Rows::dense(&dy, row_len);
        let new = super::backward(&problem, from, dense, &rstd, Some(&gamma), wanted).unwrap();
        let old = super::backward_in_place(&problem, &mut dy, dense, &rstd, Some(&gamma), wanted)
            .unwrap();
        assert!(new.dx.as_ref() == Some(&dy), "dx, row_len {row_len}");
        assert!(new.dgamma == old.dgamma, "dgamma, row_len {row_len}");
    }
}
