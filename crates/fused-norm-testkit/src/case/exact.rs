//! What are the right results of a case?

use super::{AffineForm, Case, Variant};
use crate::oracle::{self, Backward, Exact, Forward, Gate, Problem};

impl Case {
    /// The right results of the forward pass; y is that of one rounding, at the store.
    pub fn forward(&self) -> Forward {
        self.with_problem(self.affine, |problem| self.forward_of(problem))
    }

    /// `x · rstd`, or what stands in the place of x: y before gamma and beta.
    pub fn normalised(&self) -> Exact {
        self.with_problem(AffineForm::None, |problem| self.forward_of(problem).y)
    }

    /// The right results of the backward pass.
    ///
    /// The gradients of `x + residual` read the rounded sum, which is what a forward pass keeps, with
    /// the reciprocal statistic of the unrounded one, which it keeps as well.
    pub fn backward(&self) -> Backward {
        self.with_problem(self.affine, |problem| {
            let x = self.in_rows(&self.x());
            let dy = self.in_rows(&self.dy());
            let mut exact = match self.variant {
                Variant::Plain => oracle::backward(&x, &dy, problem),
                Variant::Gated(_) => {
                    let gate = self.second_rows();
                    oracle::gated_backward(&x, self.gate(&gate), &dy, problem)
                }
                Variant::Add => {
                    let mut sum = added(&x, &self.second_rows());
                    let rstd = oracle::forward(&sum, problem).rstd;
                    sum.iter_mut()
                        .for_each(|sum| *sum = self.x_kind.round(*sum));
                    let mut exact = oracle::backward_with_rstd(&sum, &rstd, &dy, problem);
                    if let Some(dsum) = self.dsum() {
                        let dx = &mut exact.dx;
                        for (index, dsum) in self.in_rows(&dsum).into_iter().enumerate() {
                            dx.values[index] += dsum;
                            dx.magnitudes[index] += dsum.abs();
                        }
                    }
                    exact.dsecond = Some(exact.dx.clone());
                    exact
                }
            };
            exact.dx = self.tensor(exact.dx);
            exact.dsecond = exact.dsecond.map(|exact| self.tensor(exact));
            exact
        })
    }

    fn forward_of(&self, problem: &Problem<'_>) -> Forward {
        let x = self.in_rows(&self.x());
        let mut exact = match self.variant {
            Variant::Plain => oracle::forward(&x, problem),
            Variant::Gated(_) => {
                let gate = self.second_rows();
                oracle::gated_forward(&x, self.gate(&gate), problem)
            }
            Variant::Add => {
                let sum = added(&x, &self.second_rows());
                let mut exact = oracle::forward(&sum, problem);
                let magnitudes = sum.iter().map(|sum| sum.abs()).collect();
                exact.sum = Some(Exact {
                    values: sum,
                    magnitudes,
                });
                exact
            }
        };
        exact.y = self.tensor(exact.y);
        exact.sum = exact.sum.map(|exact| self.tensor(exact));
        exact
    }

    fn second_rows(&self) -> Vec<f64> {
        let second = self.second();
        self.in_rows(&second.expect("this variant has a second operand"))
    }

    fn gate<'a>(&self, values: &'a [f64]) -> Gate<'a> {
        let Variant::Gated(order) = self.variant else {
            unreachable!("asked of gates only")
        };
        Gate {
            values,
            order,
            statistic: self.statistic(),
        }
    }

    /// From row order to that of the axes.
    fn tensor(&self, exact: Exact) -> Exact {
        if self.axis == 0 {
            return exact;
        }
        Exact {
            values: self.in_axes(&exact.values),
            magnitudes: self.in_axes(&exact.magnitudes),
        }
    }

    fn with_problem<T>(&self, affine: AffineForm, run: impl FnOnce(&Problem<'_>) -> T) -> T {
        let mut gamma = self.gamma().filter(|_| affine.has_gamma());
        if let (true, Some(gamma)) = (self.zero_centered, &mut gamma) {
            gamma.iter_mut().for_each(|gamma| *gamma += 1.0);
        }
        let beta = self.beta().filter(|_| affine.has_beta());
        run(&Problem {
            row_len: self.row_len(),
            stat_len: self.stat_len(),
            epsilon: self.statistic().round(self.epsilon),
            gamma: gamma.as_deref(),
            beta: beta.as_deref(),
        })
    }
}

fn added(x: &[f64], residual: &[f64]) -> Vec<f64> {
    x.iter().zip(residual).map(|(x, by)| x + by).collect()
}
