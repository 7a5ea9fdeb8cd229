//! `exp` of numbers that are not positive.

use core::f64::consts::LN_2;

use cubecl::prelude::*;

/// ln 2 in parts that f32 holds: the first has so few bits that its multiples by up to 2¹¹ are exact.
const LN_2_HIGH: f32 = 0.693_145_75;
const LN_2_MIDDLE: f32 = (LN_2 - LN_2_HIGH as f64) as f32;
const LN_2_LOW: f32 = (LN_2 - LN_2_HIGH as f64 - LN_2_MIDDLE as f64) as f32;
const LOG2_E: f32 = core::f32::consts::LOG2_E;

/// `rⁿ/n!` for |r| ≤ ln 2/2 is below half an ulp of f64 beyond this n.
const TERMS: usize = 13;
/// Bits of k: a power of two below 2⁻¹⁰⁷⁵ is 0.
const BITS: usize = 11;
/// `exp` of it and of all below it is 0 in f64.
const SMALLEST: f32 = -800.0;

/// `exp(v)` for `v ≤ 0`: the device's own, of 32 bits. There is none of 64 bits in WGSL and SPIR-V: a
/// polynomial.
#[cube]
pub(super) fn exp<S: Float, N: Size>(v: Vector<S, N>) -> Vector<S, N> {
    let size = S::size();
    if comptime!(size == 8) {
        polynomial::<S, N>(v)
    } else {
        v.exp()
    }
}

/// `exp(v) = exp(r)·2⁻ᵏ` with `v = r − k·ln 2` and a whole k.
#[cube]
fn polynomial<S: Float, N: Size>(v: Vector<S, N>) -> Vector<S, N> {
    let one = Vector::<S, N>::new(S::from_int(1));
    let two = Vector::<S, N>::new(S::from_int(2));
    let half = Vector::<S, N>::new(S::new(0.5));
    let smallest = Vector::<S, N>::new(S::new(SMALLEST));
    // NaN is not less.
    let v = select_many(v.less_than(&smallest), smallest, v);
    let mut k = (half - v * Vector::new(S::new(LOG2_E))).floor();
    let mut r = v + k * Vector::new(S::new(LN_2_HIGH));
    r += k * Vector::new(S::new(LN_2_MIDDLE));
    r += k * Vector::new(S::new(LN_2_LOW));
    let mut sum = one;
    #[unroll]
    for term in 0..TERMS {
        let n = comptime!((TERMS - term) as i64);
        sum = one + sum * (r / Vector::new(S::from_int(n)));
    }
    let mut power = half;
    #[unroll]
    for _bit in 0..BITS {
        let rest = (k * half).floor();
        let odd = (rest * two).less_than(&k);
        sum *= select_many(odd, power, one);
        k = rest;
        power *= power;
    }
    sum
}
