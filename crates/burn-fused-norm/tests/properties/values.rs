//! Values of one tensor.

use fused_norm_testkit::patterns;

use fused_norm_testkit::Random;

/// Values of which the largest is about `size`, in rows of `row_len` where the style knows rows.
///
/// Nothing is smaller than a thousandth of the largest, except zero. `few_digits` keeps six binary
/// digits of each: a value that is repeated is then added without error, as is its square.
pub fn values(
    (style, seed): (usize, u64),
    size: f64,
    few_digits: bool,
    len: usize,
    row_len: usize,
) -> Vec<f64> {
    let mut random = Random(seed);
    let constant = style == 6;
    (0..len)
        .map(|index| {
            let (row, column) = (index / row_len, index % row_len);
            let signed = random.signed();
            let tiny = 1000_f64.powf(-random.unit());
            let relative = match style {
                0 => patterns::p(index) / 2.0,
                1 | 2 => signed,
                3 => signed * tiny,
                4 if random.bits().is_multiple_of(2) => 0.0,
                4 => signed,
                // Rows of different magnitudes, some of them zero.
                5 if (seed + row as u64) % 5 == 4 => 0.0,
                5 => signed * 10_f64.powi(-(((seed + row as u64) % 5) as i32)).max(1e-2),
                6 => Random(seed).signed(),
                _ if column as u64 == seed % row_len as u64 => signed.signum(),
                _ => signed / 300.0,
            };
            size * if few_digits || constant {
                short(relative)
            } else {
                relative
            }
        })
        .collect()
}

/// Are all values one?
pub fn is_constant((style, _): (usize, u64)) -> bool {
    style == 6
}

/// Six binary digits after the point.
fn short(value: f64) -> f64 {
    (value * 64.0).round() / 64.0
}
