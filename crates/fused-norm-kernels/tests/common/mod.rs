//! What the tests on slices share: numbers, problems, and how far from the definition a kernel may be.
#![allow(dead_code, unused_imports)] // Every test file uses a part.

mod reference;
mod shape;

use fused_norm_kernels::cpu::{Affine, Element, GatedWanted, Wanted};
use fused_norm_kernels::{GateOrder, Problem};
use fused_norm_testkit::{FloatKind, patterns, tolerance};

pub use reference::{Exact, Reference};
pub use shape::Shape;

pub const ORDERS: [GateOrder; 2] = [GateOrder::AfterNorm, GateOrder::BeforeNorm];

pub const ALL: Wanted = Wanted {
    dx: true,
    dgamma: true,
    dbeta: true,
};

pub const ALL_GATED: GatedWanted = GatedWanted {
    dx: true,
    dgate: true,
    dgamma: true,
    dbeta: true,
};

/// A type of storage and what the judge calls it.
pub trait Kind: Element + PartialEq {
    const KIND: FloatKind;
}

impl Kind for f64 {
    const KIND: FloatKind = FloatKind::F64;
}

impl Kind for f32 {
    const KIND: FloatKind = FloatKind::F32;
}

impl Kind for half::f16 {
    const KIND: FloatKind = FloatKind::F16;
}

impl Kind for half::bf16 {
    const KIND: FloatKind = FloatKind::BF16;
}

/// Calls `$test::<T>` for each type of storage.
#[macro_export]
macro_rules! for_every_type {
    ($test:ident) => {{
        $test::<f64>();
        $test::<f32>();
        $test::<half::f16>();
        $test::<half::bf16>();
    }};
}

/// `count` values of type T.
pub fn values<T: Element>(count: usize, value: impl Fn(usize) -> f64) -> Vec<T> {
    (0..count).map(|i| T::from_f64(value(i))).collect()
}

/// A gate's values: all that silu has to show, from −90 to 90.
pub fn gate_value(i: usize) -> f64 {
    match i % 11 {
        0 => 90.0,
        1 => -90.0,
        2 => 0.0,
        3 => -1.25,
        _ => patterns::q(i + 3) * 3.0,
    }
}

pub fn wide<T: Element>(values: &[T]) -> Vec<f64> {
    values.iter().map(|value| value.to_f64()).collect()
}

/// The bits of each; of every NaN the same. Of two that meet, the processor keeps the first, and the
/// compiler may take them in either order.
pub fn bits<T: Element>(values: &[T]) -> Vec<u64> {
    let bits = |value: f64| match value.is_nan() {
        true => f64::NAN.to_bits(),
        false => value.to_bits(),
    };
    values.iter().map(|value| bits(value.to_f64())).collect()
}

/// gamma and beta as one of the three choices.
pub fn affines<'a, S>(gamma: &'a [S], beta: &'a [S]) -> [Affine<'a, S>; 3] {
    [
        Affine::None,
        Affine::Scale { gamma },
        Affine::ScaleShift { gamma, beta },
    ]
}

/// Every length up to past two blocks, each with another place at which the statistic ends, another
/// number of rows of gamma, and gamma centred at 0 and not.
pub fn problems() -> impl Iterator<Item = Problem> {
    (1..=66_usize).flat_map(|row_len| {
        [1, row_len.div_ceil(3), row_len].map(move |stat_len| {
            let gamma_rows = [1, 2, 3, 6][(row_len + stat_len) % 4];
            Problem::new(6, row_len, stat_len, 1e-5)
                .and_then(|problem| problem.with_gamma_rows(gamma_rows))
                .unwrap()
                .with_zero_centered(row_len % 2 == 0)
        })
    })
}

/// Rows of the patterns in one type.
pub struct Data<T: Element> {
    pub x: Vec<T>,
    pub second: Vec<T>,
    pub dy: Vec<T>,
    pub gamma: Vec<T::Statistic>,
    pub beta: Vec<T::Statistic>,
}

impl<T: Element> Data<T> {
    pub fn new(problem: &Problem, second: fn(usize) -> f64) -> Self {
        let elements = problem.elements();
        Self {
            x: values(elements, patterns::p),
            second: values(elements, second),
            dy: values(elements, patterns::q),
            gamma: values(problem.gamma_len(), patterns::g),
            beta: values(problem.gamma_len(), patterns::b),
        }
    }

    pub fn all_affine(&self) -> Affine<'_, T::Statistic> {
        Affine::ScaleShift {
            gamma: &self.gamma,
            beta: &self.beta,
        }
    }
}

/// Asserts that each value is the exact one, rounded to T, after a few roundings of the type of
/// computation.
pub fn assert_near<T: Kind>(what: &str, found: &[T], exact: &[Exact]) {
    assert_within(what, &wide(found), exact, T::KIND, 0.0);
}

/// The same for what stays in the type of computation, as sums over `terms` rows: one running sum, of
/// terms that may be all the same, which err the same way each time.
pub fn assert_sums<T: Kind>(what: &str, found: &[T::Statistic], exact: &[Exact], terms: usize) {
    let kind = T::KIND.statistic();
    let drift = kind.unit_roundoff() * terms as f64 / 2.0;
    assert_within(what, &wide(found), exact, kind, drift);
}

fn assert_within(what: &str, found: &[f64], exact: &[Exact], kind: FloatKind, drift: f64) {
    assert_eq!(found.len(), exact.len(), "{what}");
    // No sum has more terms.
    let mut tolerance = tolerance(kind, kind.statistic(), exact.len());
    tolerance.relative += drift;
    for (index, (&found, exact)) in found.iter().zip(exact).enumerate() {
        assert!(
            tolerance.accepts(found, exact.value, exact.magnitude),
            "{what} [{index}]: {found:e}, expected {:e} ± {:e}",
            exact.value,
            tolerance.allowed(exact.value, exact.magnitude)
        );
    }
}
