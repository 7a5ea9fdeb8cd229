//! What the contenders work on, and whether they do it right.

use burn::tensor::{DType, Device, Tensor, TensorData};
use fused_norm_testkit::{FloatKind, oracle, patterns};

/// Inside the root, for every contender.
pub const EPSILON: f64 = 1e-5;

/// Rows and row lengths of which every pair is measured.
pub const ROWS: [usize; 4] = [1, 32, 2048, 16384];
/// See [`ROWS`].
pub const ROW_LENS: [usize; 4] = [64, 1024, 4096, 16384];

/// Row lengths of 4 Mi elements.
pub const SWEEP: [usize; 6] = [64, 256, 1024, 4096, 16384, 65536];

/// Shapes of interest beside the others.
pub const EXTRA: [[usize; 2]; 3] = [[64, 1024], [4096, 4096], [131_072, 128]];

/// Shapes for devices without a processor of their own.
pub const FEW: [[usize; 2]; 6] = [
    [1, 4096],
    [64, 1024],
    [64, 65536],
    [2048, 1024],
    [4096, 4096],
    [65536, 64],
];

/// All shapes of the native devices, the smaller ones first.
pub fn shapes() -> Vec<[usize; 2]> {
    let grid = ROWS
        .into_iter()
        .flat_map(|rows| ROW_LENS.map(|len| [rows, len]));
    let sweep = SWEEP.map(|row_len| [(1 << 22) / row_len, row_len]);
    let mut shapes: Vec<[usize; 2]> = grid.chain(sweep).chain(EXTRA).collect();
    shapes.sort_by_key(|[rows, row_len]| (rows * row_len, *row_len));
    shapes.dedup();
    shapes
}

/// Burn's type of this kind.
pub fn dtype(kind: FloatKind) -> DType {
    match kind {
        FloatKind::F64 => DType::F64,
        FloatKind::F32 => DType::F32,
        FloatKind::F16 => DType::F16,
        FloatKind::BF16 => DType::BF16,
    }
}

/// Values of both signs around 1.
pub fn values([rows, row_len]: [usize; 2]) -> Vec<f32> {
    // A prime, so that no two rows of a usual length are equal.
    let period: Vec<f32> = (0..65_537).map(|i| patterns::p(i) as f32).collect();
    period.into_iter().cycle().take(rows * row_len).collect()
}

/// [`values`] as rows.
pub fn input(device: &Device, shape: [usize; 2], kind: FloatKind) -> Tensor<2> {
    let x: Tensor<2> = Tensor::from_data(TensorData::new(values(shape), shape), device);
    x.cast(dtype(kind))
}

/// The values from the last to the first, in memory of their own: a residual or a gate as a model has it, and not
/// a view, which a kernel may have to copy first.
pub fn reversed(device: &Device, shape: [usize; 2]) -> Tensor<2> {
    let mut values = values(shape);
    values.reverse();
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Rows that are compared with the oracle.
const VERIFIED: usize = 16;

/// What our results may be off by, relative to the exact value.
pub fn strict(kind: FloatKind) -> f64 {
    match kind {
        FloatKind::F64 => 1e-12,
        FloatKind::F32 => 1e-5,
        FloatKind::F16 => 1e-3,
        FloatKind::BF16 => 1e-2,
    }
}

/// What others' may: one plain f32 sum over a row of 65 536 is off by 2e-4.
pub const LOOSE: f64 = 1e-3;

/// # Panics
///
/// If rows of `y` are not RMSNorm of those of `x` but for a relative error; the statistic reads
/// `stat_len` features.
pub fn verify(x: &Tensor<2>, y: &Tensor<2>, stat_len: usize, relative: f64) {
    let [rows, row_len] = x.dims();
    for row in (0..rows).step_by(rows.div_ceil(VERIFIED)) {
        let read = |tensor: &Tensor<2>| -> Vec<f64> {
            let row = tensor.clone().slice([row..row + 1, 0..row_len]);
            row.into_data().iter().collect()
        };
        verify_row(&read(x), &read(y), stat_len, relative);
    }
}

/// [`verify`], of one row.
///
/// # Panics
///
/// Likewise.
pub fn verify_row(x: &[f64], y: &[f64], stat_len: usize, relative: f64) {
    let exact = oracle::forward(
        x,
        &oracle::Problem {
            row_len: x.len(),
            stat_len,
            epsilon: EPSILON,
            gamma: None,
            beta: None,
        },
    );
    for (y, exact) in y.iter().zip(exact.y.values) {
        let error = (y - exact).abs();
        assert!(error <= relative * exact.abs(), "{y}, expected {exact}");
    }
}

/// The values in new memory, written by as many threads as our kernels take for so many: what a
/// forward pass cannot be faster than.
pub fn copied<T: Copy + Send + Sync>(values: &[T]) -> Box<[T]> {
    let mut copy = Box::new_uninit_slice(values.len());
    let threads = match values.len() {
        ..ONE_THREAD => 1,
        _ => rayon::current_num_threads(),
    };
    let share = values.len().div_ceil(threads).max(1);
    let mut shares = copy.chunks_mut(share).zip(values.chunks(share));
    let own = shares.next();
    rayon::in_place_scope(|scope| {
        for (to, from) in shares {
            scope.spawn(move |_| {
                to.write_copy_of_slice(from);
            });
        }
        if let Some((to, from)) = own {
            to.write_copy_of_slice(from);
        }
    });
    // SAFETY: the chunks of both slices, of one length and cut alike, cover all of it, and the scope
    // has ended: every element has been written.
    unsafe { copy.assume_init() }
}

/// Elements below which our kernels work on one thread.
const ONE_THREAD: usize = 128 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_every_value() {
        for len in [0, 1, 1000, ONE_THREAD - 1, ONE_THREAD, 300_007] {
            let values: Vec<f32> = (0..len).map(|i| i as f32).collect();
            assert_eq!(*copied(&values), *values);
        }
    }
}
