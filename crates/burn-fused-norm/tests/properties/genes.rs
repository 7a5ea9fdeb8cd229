//! What is drawn, before it becomes a case.
//!
//! Genes are small numbers of which every combination is a case, so that a failing one can be made
//! simpler gene by gene: 0 is the simplest value of each.

use proptest::prelude::*;

/// What decides which kernels a device compiles.
#[derive(Clone, Debug)]
pub struct Structure {
    /// Index into the kinds that the subject has.
    pub kind: usize,
    pub gamma_kind: usize,
    pub beta_kind: usize,
    /// Number of axes less one.
    pub axes: usize,
    pub row_len: usize,
    pub variant: usize,
    pub affine: usize,
    /// How rows and gamma lie in the tensor: see `draw::arrange`.
    pub arrangement: usize,
    pub zero_centered: bool,
    pub before_gamma: bool,
    pub partial: usize,
    pub x_layout: usize,
    pub dy_layout: usize,
    pub second_layout: usize,
    pub gamma_layout: usize,
    pub mode: usize,
    /// Which of the properties that run the case several times is asked.
    pub extra: usize,
}

/// What it does not.
#[derive(Clone, Debug)]
pub struct Numbers {
    pub empty: bool,
    /// Steps by which a row is longer than the structure says, within its class.
    pub stretch: usize,
    /// Lengths of the axes beside the normalised one.
    pub lengths: Vec<usize>,
    /// Place in the row of the end of the statistic.
    pub part: f64,
    /// log10
    pub epsilon: f64,
    /// Where the magnitude of each is in its range, from -1 to 1; 0 is 1.
    pub x_size: f64,
    pub second_size: f64,
    pub dy_size: f64,
    pub gamma_size: f64,
    /// Style and seed of the values of x, dy, the second operand, gamma, and the gradient of the sum.
    pub values: [(usize, u64); 5],
    pub sum_used: bool,
}

/// Lengths around which kernels change, or are likely to.
const SWITCHES: [usize; 13] = [8, 16, 31, 32, 33, 63, 64, 65, 127, 128, 129, 256, 384];

const LONG_SWITCHES: [usize; 9] = [255, 257, 511, 512, 513, 640, 1023, 1024, 1025];

fn row_len() -> impl Strategy<Value = usize> {
    prop_oneof![
        12 => 1..=40_usize,
        7 => prop::sample::select(&SWITCHES),
        1 => prop::sample::select(&LONG_SWITCHES),
    ]
}

/// Mostly the first, simplest choice.
fn mostly(choices: usize) -> impl Strategy<Value = usize> {
    prop_oneof![1 => Just(0), 1 => 0..choices]
}

pub fn structure() -> impl Strategy<Value = Structure> {
    let types = (0..4_usize, mostly(4), mostly(4));
    let rows = (
        prop_oneof![3 => 0..4_usize, 1 => 0..8_usize],
        row_len(),
        mostly(16),
    );
    let operation = (
        mostly(4),
        0..3_usize,
        any::<bool>(),
        prop::bool::weighted(0.2),
    );
    let views = (mostly(12), mostly(10), mostly(10), mostly(6));
    let layouts = prop_oneof![1 => Just((0, 0, 0, 0)), 2 => views];
    let rest = (mostly(6), 0..8_usize, 0..11_usize);
    (types, rows, operation, layouts, rest).prop_map(|(types, rows, operation, layouts, rest)| {
        Structure {
            kind: types.0,
            gamma_kind: types.1,
            beta_kind: types.2,
            axes: rows.0,
            row_len: rows.1,
            arrangement: rows.2,
            variant: operation.0,
            affine: operation.1,
            zero_centered: operation.2,
            before_gamma: operation.3,
            x_layout: layouts.0,
            dy_layout: layouts.1,
            second_layout: layouts.2,
            gamma_layout: layouts.3,
            partial: rest.0,
            mode: rest.1,
            extra: rest.2,
        }
    })
}

/// Half of the draws near 1, where every digit counts, half anywhere.
fn size() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), -0.08..0.08, -1.0..=1.0]
}

fn style() -> impl Strategy<Value = (usize, u64)> {
    (0..8_usize, 0..u64::from(u32::MAX))
}

pub fn numbers() -> impl Strategy<Value = Numbers> {
    let rows = (
        prop::bool::weighted(0.02),
        0..4_usize,
        prop::collection::vec(0..1000_usize, 8),
        0.0..1.0,
    );
    let sizes = (-12.0..=0.0, size(), size(), size(), size());
    let values = ([style(), style(), style(), style(), style()], any::<bool>());
    (rows, sizes, values).prop_map(|(rows, sizes, (values, sum_used))| Numbers {
        empty: rows.0,
        stretch: rows.1,
        lengths: rows.2,
        part: rows.3,
        epsilon: sizes.0,
        x_size: sizes.1,
        second_size: sizes.2,
        dy_size: sizes.3,
        gamma_size: sizes.4,
        values,
        sum_used,
    })
}
