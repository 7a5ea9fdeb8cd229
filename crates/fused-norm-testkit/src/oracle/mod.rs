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
//!
//! Gates are computed as well, so what they multiply has an error of its own, which goes through the
//! same formulas: see [`gated_forward`].

#[cfg(test)]
mod differences;
mod gated;
mod plain;
mod stat_len;
pub(crate) mod sum;
#[cfg(test)]
mod tests;

pub use gated::{Gate, gated_backward, gated_forward, silu, silu_slope};
pub use stat_len::stat_len;

use plain::Operand;
use sum::sum;

/// What is computed, apart from the values of the rows.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// Features of a row, `n`.
    pub row_len: usize,
    /// Leading features that the statistic reads, `k`.
    pub stat_len: usize,
    /// Added to the mean square, inside the root.
    pub epsilon: f64,
    /// Scale of each column; `None` is a scale of 1. Of `g` rows of scales, row `r` takes row
    /// `r % g`.
    pub gamma: Option<&'a [f64]>,
    /// Shift of each column, in as many rows; `None` is a shift of 0.
    pub beta: Option<&'a [f64]>,
}

impl<'a> Problem<'a> {
    /// Rows of gamma and beta.
    fn gamma_rows(&self) -> usize {
        let parameter = self.gamma.or(self.beta);
        parameter.map_or(1, |parameter| parameter.len() / self.row_len)
    }

    /// Gamma and beta of a row.
    fn parameters(&self, row: usize) -> [Option<&'a [f64]>; 2] {
        let start = row % self.gamma_rows() * self.row_len;
        [self.gamma, self.beta].map(|all| Some(&all?[start..start + self.row_len]))
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

impl Exact {
    fn with_capacity(len: usize) -> Self {
        Self {
            values: Vec::with_capacity(len),
            magnitudes: Vec::with_capacity(len),
        }
    }

    fn push(&mut self, value: f64, magnitude: f64) {
        self.values.push(value);
        self.magnitudes.push(magnitude);
    }
}

/// Results of the forward pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Forward {
    /// The normalised rows.
    pub y: Exact,
    /// Where x is a sum, the sum before it is rounded.
    pub sum: Option<Exact>,
    /// The reciprocal statistic of each row.
    pub rstd: Vec<f64>,
}

/// Results of the backward pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Backward {
    /// Gradient of the rows.
    pub dx: Exact,
    /// Gradient of the residual or the gate, where there is one.
    pub dsecond: Option<Exact>,
    /// Gradient of gamma, in as many rows; defined whether or not the problem has one.
    pub dgamma: Exact,
    /// Gradient of beta, in as many rows; defined whether or not the problem has one.
    pub dbeta: Exact,
}

/// The forward pass over all rows of `x`.
///
/// # Panics
///
/// Panics when `x` is not whole rows, `stat_len` is not in `1..=row_len`, or gamma and beta are not
/// whole rows of one number.
pub fn forward(x: &[f64], problem: &Problem<'_>) -> Forward {
    plain::forward(Operand::exact(x), problem)
}

/// The backward pass over all rows of `x`, given the gradient `dy` of the output.
///
/// # Panics
///
/// As [`forward`], and when `x` and `dy` differ in length.
pub fn backward(x: &[f64], dy: &[f64], problem: &Problem<'_>) -> Backward {
    plain::backward(Operand::exact(x), Operand::exact(dy), None, problem)
}

/// [`backward`] with reciprocal statistics that a forward pass has kept, of rows that were since
/// rounded.
///
/// # Panics
///
/// As [`backward`], and when `rstd` does not have one value a row.
pub fn backward_with_rstd(x: &[f64], rstd: &[f64], dy: &[f64], problem: &Problem<'_>) -> Backward {
    plain::backward(Operand::exact(x), Operand::exact(dy), Some(rstd), problem)
}
