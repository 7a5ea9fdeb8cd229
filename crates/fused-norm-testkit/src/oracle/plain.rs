//! The operation on rows that may themselves be results.

use super::sum::{Sum, sum};
use super::{Backward, Exact, Forward, Problem};

/// Values, and how far each may be off already, in the units of a magnitude.
#[derive(Clone, Copy)]
pub(super) struct Operand<'a> {
    pub values: &'a [f64],
    /// `None`: the values are given, not computed.
    pub errors: Option<&'a [f64]>,
}

impl<'a> Operand<'a> {
    pub fn exact(values: &'a [f64]) -> Self {
        Self {
            values,
            errors: None,
        }
    }

    fn row(self, row: usize, row_len: usize) -> Self {
        let part = |all: &'a [f64]| &all[row * row_len..(row + 1) * row_len];
        Self {
            values: part(self.values),
            errors: self.errors.map(part),
        }
    }

    /// The error of element `j` times a factor: 0 where there is none, whatever the factor.
    fn error(self, j: usize, factor: f64) -> f64 {
        self.errors.map_or(0.0, |errors| errors[j] * factor.abs())
    }

    /// How often an error counts in rstd: once for its own computation, and once for each unit by
    /// which the mean square that it is computed from may be off.
    fn rstd_weight(self, rstd: f64, problem: &Problem<'_>) -> f64 {
        if self.errors.is_none() {
            return 1.0;
        }
        let k = problem.stat_len;
        let products = (0..k).map(|j| self.error(j, self.values[j]));
        1.0 + sum(products) / k as f64 * rstd * rstd
    }
}

pub(super) fn forward(x: Operand<'_>, problem: &Problem<'_>) -> Forward {
    let n = problem.row_len;
    let rows = rows_of(x.values, problem);
    let mut y = Exact::with_capacity(x.values.len());
    let mut rstds = Vec::with_capacity(rows);
    for row in 0..rows {
        let x = x.row(row, n);
        let [gamma, beta] = problem.parameters(row);
        let rstd = problem.rstd(x.values);
        let weight = x.rstd_weight(rstd, problem);
        for (j, value) in x.values.iter().enumerate() {
            let gamma = gamma.map_or(1.0, |gamma| gamma[j]);
            let (scaled, beta) = (value * rstd * gamma, beta.map_or(0.0, |beta| beta[j]));
            let magnitude = weight * scaled.abs() + x.error(j, rstd * gamma) + beta.abs();
            y.push(scaled + beta, magnitude);
        }
        rstds.push(rstd);
    }
    Forward {
        y,
        sum: None,
        rstd: rstds,
    }
}

pub(super) fn backward(
    x: Operand<'_>,
    dy: Operand<'_>,
    rstds: Option<&[f64]>,
    problem: &Problem<'_>,
) -> Backward {
    let rows = rows_of(x.values, problem);
    assert_eq!(
        x.values.len(),
        dy.values.len(),
        "oracle: x and dy differ in length"
    );
    assert!(
        rstds.is_none_or(|rstds| rstds.len() == rows),
        "oracle: rstd"
    );
    let n = problem.row_len;
    let k = problem.stat_len as f64;
    let mut dx = Exact::with_capacity(x.values.len());
    let mut dgamma = Columns::new(problem.gamma_rows() * n);
    let mut dbeta = Columns::new(problem.gamma_rows() * n);
    for row in 0..rows {
        let (x, dy) = (x.row(row, n), dy.row(row, n));
        let [gamma, _] = problem.parameters(row);
        let gamma = |j: usize| gamma.map_or(1.0, |gamma| gamma[j]);
        let rstd = rstds.map_or_else(|| problem.rstd(x.values), |rstds| rstds[row]);
        let weight = x.rstd_weight(rstd, problem);

        let terms = || (0..n).map(|j| dy.values[j] * gamma(j) * x.values[j]);
        let (c, c_magnitude) = (sum(terms()), sum(terms().map(f64::abs)));
        let errors =
            |j: usize| dy.error(j, gamma(j) * x.values[j]) + x.error(j, gamma(j) * dy.values[j]);
        let c_error = sum((0..n).map(errors));

        let first_column = row % problem.gamma_rows() * n;
        for j in 0..n {
            let (value, dy_value) = (x.values[j], dy.values[j]);
            let normalised = value * rstd;
            let direct = rstd * dy_value * gamma(j);
            let direct_magnitude = weight * direct.abs() + dy.error(j, rstd * gamma(j));
            let (mut correction, mut correction_magnitude) = (0.0, 0.0);
            if j < problem.stat_len {
                let factor = normalised * rstd / k;
                correction = factor * (c * rstd);
                correction_magnitude = weight * 3.0 * (factor * (c_magnitude * rstd)).abs()
                    + if c_error == 0.0 {
                        0.0
                    } else {
                        (factor * (c_error * rstd)).abs()
                    }
                    + x.error(j, rstd * rstd / k * (c_magnitude * rstd));
            }
            dx.push(direct - correction, direct_magnitude + correction_magnitude);
            let term = dy_value * normalised;
            let error = dy.error(j, normalised) + x.error(j, dy_value * rstd);
            dgamma.add(first_column + j, term, weight * term.abs() + error);
            dbeta.add(
                first_column + j,
                dy_value,
                dy_value.abs() + dy.error(j, 1.0),
            );
        }
    }
    Backward {
        dx,
        dsecond: None,
        dgamma: dgamma.finish(),
        dbeta: dbeta.finish(),
    }
}

/// Number of rows of `x`.
fn rows_of(x: &[f64], problem: &Problem<'_>) -> usize {
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
    for parameter in [problem.gamma, problem.beta].into_iter().flatten() {
        assert!(
            parameter.len() == problem.gamma_rows() * row_len && !parameter.is_empty(),
            "oracle: {} values of gamma or beta are not rows of {row_len}",
            parameter.len()
        );
    }
    x.len() / row_len
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

    fn add(&mut self, column: usize, term: f64, magnitude: f64) {
        self.sums[column].add(term);
        self.magnitudes[column].add(magnitude);
    }

    fn finish(self) -> Exact {
        let values = |sums: Vec<Sum>| sums.into_iter().map(Sum::value).collect();
        Exact {
            values: values(self.sums),
            magnitudes: values(self.magnitudes),
        }
    }
}
