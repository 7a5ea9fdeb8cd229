use crate::Error;

/// Elements of a buffer at most, so that their bytes are fewer than a pointer can count in every type.
const MAX_ELEMENTS: usize = isize::MAX as usize / size_of::<f64>();

/// The elements of `rows` rows.
fn elements(rows: usize, row_len: usize) -> Result<usize, Error> {
    rows.checked_mul(row_len)
        .filter(|&elements| elements <= MAX_ELEMENTS)
        .ok_or(Error::TooLarge { rows, row_len })
}

/// Where a row is rounded to its own type on the way to y.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Rounding {
    /// Once, at the store: `y = round(x·rstd·gamma + beta)`.
    #[default]
    Once,
    /// After every step, as LLaMA's own code does: `y = round(round(x·rstd)·round(gamma))`, and with beta
    /// `round(y + round(beta))`. The gradients are those of the unrounded function.
    BeforeGamma,
}

/// On which side of the normalisation a gate is: with `silu(v) = v/(1 + exp(−v))`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum GateOrder {
    /// `y = norm(x)·silu(gate)`
    #[default]
    AfterNorm,
    /// `y = norm(x·silu(gate))`
    BeforeNorm,
}

/// What is to be computed: the normalisation of `rows` rows of `row_len` elements, each by a
/// statistic of its first `stat_len` elements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Problem {
    rows: usize,
    row_len: usize,
    stat_len: usize,
    epsilon: f64,
    gamma_rows: usize,
    zero_centered: bool,
    rounding: Rounding,
}

impl Problem {
    /// # Errors
    ///
    /// If `row_len` is 0, `stat_len` is not in 1 to `row_len`, `epsilon` is not finite or not
    /// greater than 0, or `rows·row_len` is more than `isize::MAX / 8`.
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
        elements(rows, row_len)?;
        Ok(Self {
            rows,
            row_len,
            stat_len,
            epsilon,
            gamma_rows: 1,
            zero_centered: false,
            rounding: Rounding::Once,
        })
    }

    /// gamma and beta have `gamma_rows` rows of `row_len` values: row r takes row `r % gamma_rows` of
    /// them. 1 where nothing else is said.
    ///
    /// # Errors
    ///
    /// If `gamma_rows` is 0, `rows` is no multiple of it, or `gamma_rows·row_len` is more than
    /// `isize::MAX / 8`.
    pub fn with_gamma_rows(mut self, gamma_rows: usize) -> Result<Self, Error> {
        if gamma_rows == 0 || !self.rows.is_multiple_of(gamma_rows) {
            return Err(Error::GammaRows {
                gamma_rows,
                rows: self.rows,
            });
        }
        // Of no rows, gamma may have any number.
        elements(gamma_rows, self.row_len)?;
        self.gamma_rows = gamma_rows;
        Ok(self)
    }

    /// gamma is stored around 0: the factor is `1 + gamma`.
    pub fn with_zero_centered(mut self, zero_centered: bool) -> Self {
        self.zero_centered = zero_centered;
        self
    }

    /// Where a row is rounded on the way to y; [`Rounding::Once`] where nothing else is said.
    pub fn with_rounding(mut self, rounding: Rounding) -> Self {
        self.rounding = rounding;
        self
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

    /// Rows of gamma and beta.
    pub fn gamma_rows(&self) -> usize {
        self.gamma_rows
    }

    /// Values of gamma and of beta: `gamma_rows·row_len`.
    pub fn gamma_len(&self) -> usize {
        self.gamma_rows * self.row_len
    }

    /// Whether the factor is `1 + gamma`.
    pub fn zero_centered(&self) -> bool {
        self.zero_centered
    }

    /// Where a row is rounded on the way to y.
    pub fn rounding(&self) -> Rounding {
        self.rounding
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
            (100, 0.072, 8),
            // 7340032.000000001
            (100 << 20, 0.07, 7 << 20),
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
        for gamma_rows in [0, 4, 7] {
            let problem = Problem::new(6, 4, 4, 1.0).unwrap();
            assert_eq!(
                problem.with_gamma_rows(gamma_rows),
                Err(Error::GammaRows {
                    gamma_rows,
                    rows: 6
                })
            );
        }
    }

    /// Rows may repeat in a short buffer; what is computed of them cannot.
    #[test]
    fn more_elements_than_a_buffer_can_hold_are_refused() {
        let most = isize::MAX as usize / 8;
        assert!(Problem::new(most, 1, 1, 1.0).is_ok());
        assert!(Problem::new(1, most, 1, 1.0).is_ok());
        let nothing = Problem::new(0, 4, 4, 1.0).unwrap();
        assert!(nothing.with_gamma_rows(most / 4).is_ok());
        for rows in [most / 4 + 1, usize::MAX / 8 + 1, usize::MAX / 4, usize::MAX] {
            let too_large = Err(Error::TooLarge { rows, row_len: 4 });
            assert_eq!(Problem::new(rows, 4, 4, 1.0), too_large);
            assert_eq!(nothing.with_gamma_rows(rows), too_large);
        }
    }
}
