//! How many leading features does the statistic read for a given fraction `p`?

/// `k = ceil(n * p)`, at least 1 and at most `n`.
///
/// `n * p` is a floating-point product: a product within 1e-9 (relative) of an integer is that
/// integer, so that `100 * 0.07 = 7.000000000000001` means 7.
///
/// # Panics
///
/// Panics when `row_len` is 0 or `p` is outside `(0, 1]`.
pub fn stat_len(row_len: usize, p: f64) -> usize {
    assert!(row_len > 0, "stat_len: row_len is 0");
    assert!(
        p > 0.0 && p <= 1.0,
        "stat_len: p is {p}, expected 0 < p <= 1"
    );
    let product = row_len as f64 * p;
    let nearest = product.round();
    let length = if (product - nearest).abs() <= 1e-9 * nearest {
        nearest
    } else {
        product.ceil()
    };
    (length as usize).clamp(1, row_len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_table() {
        let table = [
            (100, 0.07, 7),
            (100, 0.28, 28),
            (100, 0.55, 55),
            (50, 0.14, 7),
            (200, 0.035, 7),
            (10, 0.1, 1),
            (512, 0.0625, 32),
            (3, 0.1, 1),
            (7, 0.5, 4),
            (8, 1.0, 8),
            (8, 1e-9, 1),
            (1, 1.0, 1),
            (1, 0.5, 1),
            (1000, 0.999, 999),
        ];
        for (row_len, p, expected) in table {
            assert_eq!(stat_len(row_len, p), expected, "({row_len}, {p})");
        }
    }

    #[test]
    fn every_exact_fraction_gives_its_numerator() {
        for row_len in 1..=300_usize {
            for k in 1..=row_len {
                assert_eq!(
                    stat_len(row_len, k as f64 / row_len as f64),
                    k,
                    "{k}/{row_len}"
                );
            }
        }
    }
}
