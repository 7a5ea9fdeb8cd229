//! dgamma and dbeta, or what some rows add to them.

use alloc::vec;
use alloc::vec::Vec;

use super::Statistic;
use crate::Problem;

/// Sums over rows, one a column of each row of gamma; empty if not wanted.
pub(super) struct Sums<S> {
    pub dgamma: Vec<S>,
    pub dbeta: Vec<S>,
}

impl<S: Statistic> Sums<S> {
    pub(super) fn zeros(problem: &Problem, dgamma: bool, dbeta: bool) -> Self {
        let zeros = |wanted| vec![S::default(); if wanted { problem.gamma_len() } else { 0 }];
        Self {
            dgamma: zeros(dgamma),
            dbeta: zeros(dbeta),
        }
    }

    pub(super) fn add(&mut self, partial: &Self) {
        add(&mut self.dgamma, &partial.dgamma);
        add(&mut self.dbeta, &partial.dbeta);
    }
}

fn add<S: Statistic>(sums: &mut [S], terms: &[S]) {
    for (sum, term) in sums.iter_mut().zip(terms) {
        *sum += *term;
    }
}

/// Terms that are added up in the type of computation: a longer sum drifts, in f32 by 6e-4 of itself
/// where 65 536 equal terms are added.
const TERMS_A_SUM: usize = 256;

/// The sums of a task, which begin anew every [`TERMS_A_SUM`] terms and are added to totals in f64.
pub(super) struct TaskSums<S> {
    /// Of the terms since they began.
    pub sums: Sums<S>,
    totals: Option<Sums<f64>>,
    /// Units of work between two beginnings.
    span: usize,
    left: usize,
}

impl<S: Statistic> TaskSums<S> {
    /// Where each row of gamma gets a term of one of `turns` units of work.
    pub(super) fn zeros(problem: &Problem, dgamma: bool, dbeta: bool, turns: usize) -> Self {
        let wanted = dgamma || dbeta;
        let span = match wanted {
            true => TERMS_A_SUM.saturating_mul(turns),
            false => usize::MAX,
        };
        Self {
            sums: Sums::zeros(problem, dgamma, dbeta),
            totals: None,
            span,
            left: span,
        }
    }

    /// Before each unit of work.
    #[inline(always)]
    pub(super) fn begin(&mut self) {
        if self.left == 0 {
            self.fold();
        }
        self.left -= 1;
    }

    #[cold]
    #[inline(never)]
    fn fold(&mut self) {
        let zeros = |sums: &[S]| vec![0.0; sums.len()];
        let totals = self.totals.get_or_insert_with(|| Sums {
            dgamma: zeros(&self.sums.dgamma),
            dbeta: zeros(&self.sums.dbeta),
        });
        for (totals, sums) in [
            (&mut totals.dgamma, &mut self.sums.dgamma),
            (&mut totals.dbeta, &mut self.sums.dbeta),
        ] {
            for (total, sum) in totals.iter_mut().zip(sums) {
                *total += sum.to_f64();
                *sum = S::default();
            }
        }
        self.left = self.span;
    }

    /// What the task adds to the gradients, rounded once.
    pub(super) fn finish(mut self) -> Sums<S> {
        if self.totals.is_some() {
            self.fold();
        }
        let Some(Sums { dgamma, dbeta }) = self.totals else {
            return self.sums;
        };
        let rounded = |totals: Vec<f64>| totals.into_iter().map(S::from_f64).collect();
        Sums {
            dgamma: rounded(dgamma),
            dbeta: rounded(dbeta),
        }
    }
}
