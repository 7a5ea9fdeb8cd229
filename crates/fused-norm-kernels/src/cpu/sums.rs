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
