//! What holds across entries: the same bits whatever the instruction set.

use alloc::vec;
use alloc::vec::Vec;
use core::mem::MaybeUninit;

use half::{bf16, f16};
use macerator::{Arch, Simd, WithSimd};

use super::backward::gradient_rows_on;
use super::forward::normalise_rows_on;
use super::{Affine, Element, Rows};
use crate::Problem;

/// One row of forward and backward, compiled for the instruction set that runs it.
struct OneRow<'a, T: Element> {
    problem: &'a Problem,
    x: &'a [T],
    dy: &'a [T],
    gamma: &'a [T::Statistic],
}

impl<T: Element> WithSimd for OneRow<'_, T> {
    type Output = (Vec<T>, Vec<T>, Vec<T::Statistic>);

    #[inline(always)]
    fn with_simd<S: Simd>(self) -> Self::Output {
        let Self {
            problem,
            x,
            dy,
            gamma,
        } = self;
        let rows = Rows::dense(x, x.len());
        let mut y = vec![MaybeUninit::uninit(); x.len()];
        let mut rstd = [T::Statistic::default()];
        normalise_rows_on::<S, T>(problem, rows, Affine::Scale { gamma }, &mut y, &mut rstd);
        // SAFETY: `normalise_rows_on` stores every element of the row.
        let y = y.iter().map(|y| unsafe { y.assume_init() }).collect();
        let mut dx = dy.to_vec();
        let mut dgamma = vec![T::Statistic::default(); x.len()];
        gradient_rows_on::<S, T>(problem, rows, &rstd, gamma, &mut dx, &mut dgamma);
        (y, dx, dgamma)
    }
}

fn same_bits_on_every_instruction_set<T: Element + PartialEq>() {
    for row_len in (1..100).chain([1000, 4097]) {
        let value = |i: usize| T::from_f64(((37 * i + 11) % 101) as f64 / 31.7 - 1.5);
        let x: Vec<T> = (0..row_len).map(value).collect();
        let dy: Vec<T> = (0..row_len).map(|i| value(3 * i + 5)).collect();
        let gamma: Vec<T::Statistic> = (0..row_len).map(|i| value(7 * i).widen()).collect();
        let problem = Problem::new(1, row_len, row_len.div_ceil(3), 1e-5).unwrap();
        let row = || OneRow {
            problem: &problem,
            x: &x,
            dy: &dy,
            gamma: &gamma,
        };
        // SAFETY: the scalar fallback needs no processor feature; `detect` returns what is there.
        let (fallback, detected) =
            unsafe { (Arch::Scalar.dispatch(row()), Arch::detect().dispatch(row())) };
        assert!(
            fallback == detected,
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
