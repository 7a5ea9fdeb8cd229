//! What holds across entries: the same bits whatever the instruction set, and past the caches.

use alloc::vec::Vec;

use half::{bf16, f16};
use macerator::Arch;

use super::backward::gradient_row;
use super::forward::normalise_row;
use super::row::STREAM_BYTES;
use super::{Affine, Element, Rows, Wanted};
use crate::Problem;

fn same_bits_on_every_instruction_set<T: Element + PartialEq>() {
    for row_len in (1..100).chain([1000, 4097]) {
        let value = |i: usize| T::from_f64(((37 * i + 11) % 101) as f64 / 31.7 - 1.5);
        let x: Vec<T> = (0..row_len).map(value).collect();
        let dy: Vec<T> = (0..row_len).map(|i| value(3 * i + 5)).collect();
        let gamma: Vec<T::Statistic> = (0..row_len).map(|i| value(7 * i).widen()).collect();
        let problem = Problem::new(1, row_len, row_len.div_ceil(3), 1e-5).unwrap();
        let (x, gamma) = (Rows::dense(&x, row_len), &gamma[..]);
        // SAFETY: it is called with `Scalar`, which needs no processor feature, and with what
        // `detect` has found on this processor.
        let row = |arch: Arch| unsafe {
            arch.dispatch(
                #[inline(always)]
                || {
                    let (y, rstd) = normalise_row(&problem, x, Affine::Scale { gamma });
                    let mut dx = dy.clone();
                    let dgamma = gradient_row(&problem, x, rstd, gamma, &mut dx);
                    (y, dx, dgamma)
                },
            )
        };
        assert!(
            row(Arch::Scalar) == row(Arch::detect()),
            "{:?}, row_len {row_len}",
            Arch::detect()
        );
    }
}

#[test]
fn every_instruction_set_gives_the_same_bits() {
    same_bits_on_every_instruction_set::<f64>();
    same_bits_on_every_instruction_set::<f32>();
    same_bits_on_every_instruction_set::<f16>();
    same_bits_on_every_instruction_set::<bf16>();
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
