//! What holds across entries: the same bits whatever the instruction set.

use alloc::vec::Vec;

use half::{bf16, f16};
use macerator::Arch;

use super::backward::gradient_row;
use super::forward::normalise_row;
use super::{Affine, Element, Rows};
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
