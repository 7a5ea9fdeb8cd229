//! The definition in f64, row by row, with the magnitudes of the terms that its results are made of.

use fused_norm_kernels::cpu::{Affine, Element};
use fused_norm_kernels::{GateOrder, Problem};

use super::wide;

/// What the reference reads: rows one after the other, in f64.
#[derive(Clone)]
pub struct Reference {
    pub problem: Problem,
    pub x: Vec<f64>,
    /// Values and order.
    pub gate: Option<(Vec<f64>, GateOrder)>,
    pub gamma: Option<Vec<f64>>,
    pub beta: Option<Vec<f64>>,
}

/// A result and the sum of the magnitudes of the terms that it is made of.
pub struct Exact {
    pub value: f64,
    pub magnitude: f64,
}

pub fn sigmoid(v: f64) -> f64 {
    1.0 / (1.0 + (-v).exp())
}

pub fn silu(v: f64) -> f64 {
    v * sigmoid(v)
}

pub fn slope(v: f64) -> f64 {
    sigmoid(v) * (1.0 + v * (1.0 - sigmoid(v)))
}

impl Reference {
    pub fn new<T: Element>(problem: Problem, x: &[T], affine: Affine<'_, T::Statistic>) -> Self {
        let parameter = |values: Option<&[T::Statistic]>| values.map(wide);
        Self {
            problem,
            x: wide(x),
            gate: None,
            gamma: parameter(affine.gamma()),
            beta: parameter(affine.beta()),
        }
    }

    fn factor(&self, row: usize, column: usize) -> f64 {
        let index = row % self.problem.gamma_rows() * self.problem.row_len() + column;
        let centre = if self.problem.zero_centered() {
            1.0
        } else {
            0.0
        };
        self.gamma
            .as_ref()
            .map_or(1.0, |gamma| centre + gamma[index])
    }

    fn shift(&self, row: usize, column: usize) -> f64 {
        let index = row % self.problem.gamma_rows() * self.problem.row_len() + column;
        self.beta.as_ref().map_or(0.0, |beta| beta[index])
    }

    fn gate_at(&self, index: usize, order: GateOrder) -> Option<f64> {
        let (values, found) = self.gate.as_ref()?;
        (*found == order).then(|| values[index])
    }

    /// What is normalised.
    fn input(&self, index: usize) -> f64 {
        let gate = self.gate_at(index, GateOrder::BeforeNorm);
        self.x[index] * gate.map_or(1.0, silu)
    }

    pub fn rstd(&self, row: usize) -> f64 {
        let start = row * self.problem.row_len();
        let k = self.problem.stat_len();
        let squares = (start..start + k).map(|i| self.input(i) * self.input(i));
        1.0 / (squares.sum::<f64>() / k as f64 + self.problem.epsilon()).sqrt()
    }

    pub fn y(&self) -> Vec<Exact> {
        let n = self.problem.row_len();
        let rstds: Vec<f64> = (0..self.problem.rows()).map(|row| self.rstd(row)).collect();
        (0..self.x.len())
            .map(|index| {
                let (row, column) = (index / n, index % n);
                let scaled = self.input(index) * rstds[row] * self.factor(row, column);
                let shift = self.shift(row, column);
                let gate = self.gate_at(index, GateOrder::AfterNorm).map_or(1.0, silu);
                Exact {
                    value: (scaled + shift) * gate,
                    magnitude: (scaled.abs() + shift.abs()) * gate.abs(),
                }
            })
            .collect()
    }

    /// `Σ dy·y`, whose derivatives the gradients are.
    pub fn loss(&self, dy: &[f64]) -> f64 {
        self.y().iter().zip(dy).map(|(y, dy)| y.value * dy).sum()
    }

    pub fn gradients(&self, dy: &[f64]) -> ReferenceGradients {
        let n = self.problem.row_len();
        let k = self.problem.stat_len();
        let zero = || Exact {
            value: 0.0,
            magnitude: 0.0,
        };
        let zeros = |count| (0..count).map(|_| zero()).collect::<Vec<_>>();
        let mut found = ReferenceGradients {
            dx: zeros(self.x.len()),
            dgate: zeros(self.x.len()),
            dgamma: zeros(self.problem.gamma_len()),
            dbeta: zeros(self.problem.gamma_len()),
        };
        for row in 0..self.problem.rows() {
            let rstd = self.rstd(row);
            let parameters = row % self.problem.gamma_rows() * n;
            let dn = |index: usize| {
                let gate = self.gate_at(index, GateOrder::AfterNorm);
                dy[index] * gate.map_or(1.0, silu)
            };
            let term = |j: usize| {
                let index = row * n + j;
                dn(index) * self.factor(row, j) * self.input(index)
            };
            let c: f64 = (0..n).map(term).sum();
            let c_magnitude: f64 = (0..n).map(|j| term(j).abs()).sum();
            for j in 0..n {
                let index = row * n + j;
                let u = self.input(index);
                let a = dn(index) * self.factor(row, j);
                let in_statistic = if j < k { 1.0 } else { 0.0 };
                let correction = in_statistic * rstd.powi(3) / k as f64 * u;
                let du = rstd * a - correction * c;
                let du_magnitude = (rstd * a).abs() + correction.abs() * c_magnitude;

                let normalised = u * rstd * self.factor(row, j);
                let shift = self.shift(row, j);
                let before = self.gate_at(index, GateOrder::BeforeNorm);
                let after = self.gate_at(index, GateOrder::AfterNorm);
                let through = before.map_or(1.0, silu);
                found.dx[index].set(du * through, du_magnitude * through.abs());
                if let Some(gate) = before {
                    let by = self.x[index] * slope(gate);
                    let magnitude = self.x[index] * slope_magnitude(gate);
                    found.dgate[index].set(du * by, du_magnitude * magnitude.abs());
                }
                if let Some(gate) = after {
                    let value = dy[index] * (normalised + shift) * slope(gate);
                    let magnitude = (normalised.abs() + shift.abs()) * slope_magnitude(gate);
                    found.dgate[index].set(value, dy[index].abs() * magnitude);
                }
                found.dgamma[parameters + j].add(dn(index) * u * rstd);
                found.dbeta[parameters + j].add(dn(index));
            }
        }
        found
    }
}

/// The terms of the slope do not all have one sign.
fn slope_magnitude(v: f64) -> f64 {
    sigmoid(v) * (1.0 + (v * (1.0 - sigmoid(v))).abs())
}

impl Exact {
    /// Of one term.
    pub fn alone(value: f64) -> Self {
        let magnitude = value.abs();
        Self { value, magnitude }
    }

    fn set(&mut self, value: f64, magnitude: f64) {
        (self.value, self.magnitude) = (value, magnitude);
    }

    fn add(&mut self, term: f64) {
        self.value += term;
        self.magnitude += term.abs();
    }
}

pub struct ReferenceGradients {
    pub dx: Vec<Exact>,
    pub dgate: Vec<Exact>,
    pub dgamma: Vec<Exact>,
    pub dbeta: Vec<Exact>,
}
