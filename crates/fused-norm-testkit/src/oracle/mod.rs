//! What are the right values?
//!
//! RMSNorm and pRMSNorm in `f64` on the host, forward and backward, from the definition:
//!
//! ```text
//! ms       = (1/k) · Σ_{i<k} x_i²
//! rstd     = 1 / sqrt(ms + epsilon)
//! y_j      = x_j · rstd · gamma_j (+ beta_j)
//!
//! a_j      = dy_j · gamma_j
//! c        = Σ_{j<n} a_j · x_j                        over all columns
//! dx_j     = rstd · a_j − [j < k] · (rstd³ / k) · c · x_j
//! dgamma_j = Σ_rows dy_j · x_j · rstd
//! dbeta_j  = Σ_rows dy_j
//! ```
//!
//! Every result comes with its *magnitude*: the sum of the absolute values of the terms that were
//! added to form it, each counted once for every factor rstd in it (and at least once), since each
//! factor brings the error of the statistic along. So the correction in dx counts three times.
//! Rounding errors of a careful implementation are small against the magnitude, not against a result
//! that cancelled.

mod stat_len;
pub(crate) mod sum;
#[cfg(test)]
mod tests;

pub use stat_len::stat_len;

use sum::{Sum, sum};

/// What is computed, apart from the values of the rows.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// Features of a row, `n`.
    pub row_len: usize,
    /// Leading features that the statistic reads, `k`.
    pub stat_len: usize,
    /// Added to the mean square, inside the root.
    pub epsilon: f64,
    /// Scale of each column; `None` is a scale of 1.
    pub gamma: Option<&'a [f64]>,
    /// Shift of each column; `None` is a shift of 0.
    pub beta: Option<&'a [f64]>,
}

impl Problem<'_> {
    fn gamma_at(&self, column: usize) -> f64 {
        self.gamma.map_or(1.0, |gamma| gamma[column])
    }

    fn beta_at(&self, column: usize) -> f64 {
        self.beta.map_or(0.0, |beta| beta[column])
    }

    fn rstd(&self, row: &[f64]) -> f64 {
        let squares = sum(row[..self.stat_len].iter().map(|x| x * x));
        1.0 / (squares / self.stat_len as f64 + self.epsilon).sqrt()
    }
}

/// Values of a quantity, and the magnitude of each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exact {
    /// The exact values.
    pub values: Vec<f64>,
    /// For each value, the sum of the absolute values of its terms, each times its factors rstd.
    pub magnitudes: Vec<f64>,
}

/// Results of the forward pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Forward {
    /// The normalised rows.
    pub y: Exact,
    /// The reciprocal statistic of each row.
    pub rstd: Vec<f64>,
}

/// Results of the backward pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Backward {
    /// Gradient of the rows.
    pub dx: Exact,
    /// Gradient of gamma; defined whether or not the problem has one.
    pub dgamma: Exact,
    /// Gradient of beta; defined whether or not the problem has one.
    pub dbeta: Exact,
}

/// The forward pass over all rows of `x`.
///
/// # Panics
///
/// Panics when `x` is not whole rows, or `stat_len` is not in `1..=row_len`.
pub fn forward(x: &[f64], problem: &Problem<'_>) -> Forward {
    check(x, problem);
    let mut y = Exact {
        values: Vec::with_capacity(x.len()),
        magnitudes: Vec::with_capacity(x.len()),
    };
    let mut rstds = Vec::with_capacity(x.len() / problem.row_len);
    for row in x.chunks_exact(problem.row_len) {
        let rstd = problem.rstd(row);
        for (column, x) in row.iter().enumerate() {
            let scaled = x * rstd * problem.gamma_at(column);
            let beta = problem.beta_at(column);
            y.values.push(scaled + beta);
            y.magnitudes.push(scaled.abs() + beta.abs());
        }
        rstds.push(rstd);
    }
    Forward { y, rstd: rstds }
}

/// The backward pass over all rows of `x`, given the gradient `dy` of the output.
///
/// # Panics
///
/// Panics when `x` and `dy` differ in length or are not whole rows, or `stat_len` is not in
/// `1..=row_len`.
pub fn backward(x: &[f64], dy: &[f64], problem: &Problem<'_>) -> Backward {
    check(x, problem);
    assert_eq!(x.len(), dy.len(), "oracle: x and dy differ in length");
    let n = problem.row_len;
    let k = problem.stat_len as f64;
    let mut dx = Exact {
        values: Vec::with_capacity(x.len()),
        magnitudes: Vec::with_capacity(x.len()),
    };
    let mut dgamma = Columns::new(n);
    let mut dbeta = Columns::new(n);
    for (row, dy) in x.chunks_exact(n).zip(dy.chunks_exact(n)) {
        let rstd = problem.rstd(row);
        let terms = || {
            row.iter()
                .zip(dy)
                .enumerate()
                .map(|(j, (x, dy))| dy * problem.gamma_at(j) * x)
        };
        let (c, c_magnitude) = (sum(terms()), sum(terms().map(f64::abs)));
        for (j, (&x, &dy)) in row.iter().zip(dy).enumerate() {
            let normalised = x * rstd;
            let direct = rstd * dy * problem.gamma_at(j);
            let (mut correction, mut correction_magnitude) = (0.0, 0.0);
            if j < problem.stat_len {
                let factor = normalised * rstd / k;
                correction = factor * (c * rstd);
                correction_magnitude = 3.0 * (factor * (c_magnitude * rstd)).abs();
            }
            dx.values.push(direct - correction);
            dx.magnitudes.push(direct.abs() + correction_magnitude);
            dgamma.add(j, dy * normalised);
            dbeta.add(j, dy);
        }
    }
    Backward {
        dx,
        dgamma: dgamma.finish(),
        dbeta: dbeta.finish(),
    }
}

fn check(x: &[f64], problem: &Problem<'_>) {
    let Problem {
        row_len, stat_len, ..
    } = *problem;
    assert!(
        (1..=row_len).contains(&stat_len),
        "oracle: stat_len {stat_len} of row_len {row_len}"
    );
    assert_eq!(
        x.len() % row_len,
        0,
        "oracle: {} values are not rows of {row_len}",
        x.len()
    );
}

/// Compensated sums over rows, one a column.
struct Columns {
    sums: Vec<Sum>,
    magnitudes: Vec<Sum>,
}

impl Columns {
    fn new(columns: usize) -> Self {
        Self {
            sums: vec![Sum::default(); columns],
            magnitudes: vec![Sum::default(); columns],
        }
    }

    fn add(&mut self, column: usize, term: f64) {
        self.sums[column].add(term);
        self.magnitudes[column].add(term.abs());
    }

    fn finish(self) -> Exact {
        let values = |sums: Vec<Sum>| sums.into_iter().map(Sum::value).collect();
        Exact {
            values: values(self.sums),
            magnitudes: values(self.magnitudes),
        }
    }
}
