use crate::Error;

/// What is to be computed: the normalisation of `rows` rows of `row_len` elements, each by a
/// statistic of its first `stat_len` elements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Problem {
    rows: usize,
    row_len: usize,
    stat_len: usize,
    epsilon: f64,
}

impl Problem {
    /// # Errors
    ///
    /// If `row_len` is 0, `stat_len` is not in 1 to `row_len`, `epsilon` is not finite or not
    /// greater than 0, or `rows·row_len` overflows.
    pub fn new(rows: usize, row_len: usize, stat_len: usize, epsilon: f64) -> Result<Self, Error> {
        if row_len == 0 {
            return Err(Error::EmptyRow);
        }
        if stat_len == 0 || stat_len > row_len {
            return Err(Error::StatLen { stat_len, row_len });
        }
        if !(epsilon.is_finite() && epsilon > 0.0) {
            return Err(Error::Epsilon(epsilon));
        }
        if rows.checked_mul(row_len).is_none() {
            return Err(Error::TooLarge { rows, row_len });
        }
        Ok(Self {
            rows,
            row_len,
            stat_len,
            epsilon,
        })
    }

    /// Rows: the product of all axes but the last.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Elements of a row.
    pub fn row_len(&self) -> usize {
        self.row_len
    }

    /// Elements of a row, from its start, that the statistic reads.
    pub fn stat_len(&self) -> usize {
        self.stat_len
    }

    /// Added to the mean square inside the root.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// `rows·row_len`.
    pub fn elements(&self) -> usize {
        self.rows * self.row_len
    }
}

/// `⌈row_len·p⌉`, at least 1 and at most `row_len`: the features that the statistic of pRMSNorm
/// reads (Zhang & Sennrich 2019, [arXiv:1910.07467](https://arxiv.org/abs/1910.07467)).
///
/// `row_len·p` is a product of floats: one within 1e-9 (relative) of an integer is that integer.
///
/// # Panics
///
/// If `p` is not in (0, 1].
///
/// ```
/// assert_eq!(fused_norm_kernels::stat_len(512, 0.0625), 32);
/// assert_eq!(fused_norm_kernels::stat_len(100, 0.07), 7); // 100·0.07 is 7.000000000000001
/// ```
pub fn stat_len(row_len: usize, p: f64) -> usize {
    assert!(
        p > 0.0 && p <= 1.0,
        "stat_len: p is {p}, expected a fraction in (0, 1]"
    );
    let product = row_len as f64 * p;
    // `as` truncates, which is the floor here; `f64::floor` and `ceil` are not in `core`.
    let floor = product as usize;
    let nearest = (product + 0.5) as usize;
    let k = if (product - nearest as f64).abs() <= 1e-9 * product {
        nearest
    } else {
        floor + 1
    };
    k.clamp(1, row_len.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_len_of_the_fixed_cases() {
        for (row_len, p, expected) in [
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
        ] {
            assert_eq!(stat_len(row_len, p), expected, "n {row_len}, p {p}");
        }
    }

    #[test]
    fn stat_len_of_exact_fractions_is_exact() {
        for row_len in 1..300 {
            for k in 1..=row_len {
                assert_eq!(
                    stat_len(row_len, k as f64 / row_len as f64),
                    k,
                    "{k}/{row_len}"
                );
            }
        }
    }

    #[test]
    fn problems_are_refused_by_name() {
        assert_eq!(Problem::new(1, 0, 1, 1e-5), Err(Error::EmptyRow));
        for stat_len in [0, 5] {
            let error = Problem::new(1, 4, stat_len, 1e-5);
            assert_eq!(
                error,
                Err(Error::StatLen {
                    stat_len,
                    row_len: 4
                })
            );
        }
        for epsilon in [0.0, -1.0, f64::INFINITY] {
            assert_eq!(Problem::new(1, 4, 4, epsilon), Err(Error::Epsilon(epsilon)));
        }
        assert!(matches!(
            Problem::new(1, 4, 4, f64::NAN),
            Err(Error::Epsilon(_))
        ));
        assert!(matches!(
            Problem::new(usize::MAX, 4, 4, 1.0),
            Err(Error::TooLarge { .. })
        ));
    }
}
