//! The gradients of one row, with the gate on either side of the normalisation.

use crate::cpu::row::{
    Formed, Memory, Multiplied, Product, Same, accumulate, columns, correlate, input_gradient,
    normalise_compactly,
};
use crate::cpu::{Affine, Element};
use crate::{Problem, Rounding};

/// One row of the task.
pub(super) struct Row<'a, T: Element> {
    pub dy: &'a [T],
    pub x: &'a [T],
    /// `silu(gate)`
    pub silu: &'a [T::Statistic],
    /// `silu'(gate)`, if dgate is wanted.
    pub slope: &'a [T::Statistic],
    pub rstd: T::Statistic,
    pub affine: Affine<'a, T::Statistic>,
    pub dx: Option<Memory<'a, T>>,
    pub dgate: Option<Memory<'a, T>>,
    pub dgamma: Option<&'a mut [T::Statistic]>,
    pub dbeta: Option<&'a mut [T::Statistic]>,
}

/// With n the normalised values, the gradient at n is `dy·silu(gate)`, and `dgate = n·dy·silu'(gate)`.
#[inline(always)]
pub(super) fn after_norm<T: Element>(problem: &Problem, mut row: Row<'_, T>) {
    let (x, rstd) = (row.x, Same(row.rstd));
    let (gamma, beta) = columns(row.affine);
    let dn = Product {
        row: row.dy,
        by: row.silu,
    };
    if let Some(mut dbeta) = row.dbeta {
        accumulate(dn, &mut dbeta);
    }
    if row.dx.is_some() || row.dgamma.is_some() {
        let sum = correlate::<T>(dn, x, row.rstd, gamma, &mut row.dgamma);
        if let Some(to) = row.dx {
            let mean = Same(T::Statistic::from_f64(sum / problem.stat_len() as f64));
            let dx = Formed { from: dn, to };
            input_gradient::<T>(dx, x, rstd, gamma, mean, problem.stat_len());
        }
    }
    if let Some(to) = row.dgate {
        let by = Product {
            row: row.dy,
            by: row.slope,
        };
        let dgate = Multiplied { from: x, by, to };
        normalise_compactly::<T>(dgate, x.len(), rstd, gamma, beta, Rounding::Once);
    }
}

/// With `u = x·silu(gate)` and du the plain gradient at u, `dx = du·silu(gate)` and
/// `dgate = du·x·silu'(gate)`.
#[inline(always)]
pub(super) fn before_norm<T: Element>(problem: &Problem, mut row: Row<'_, T>) {
    let (dy, rstd) = (row.dy, Same(row.rstd));
    let (gamma, _) = columns(row.affine);
    let u = Product {
        row: row.x,
        by: row.silu,
    };
    if let Some(mut dbeta) = row.dbeta {
        accumulate::<T>(dy, &mut dbeta);
    }
    if row.dx.is_none() && row.dgate.is_none() && row.dgamma.is_none() {
        return;
    }
    let sum = correlate(dy, u, row.rstd, gamma, &mut row.dgamma);
    let k = problem.stat_len();
    let mean = Same(T::Statistic::from_f64(sum / k as f64));
    if let Some(to) = row.dx {
        let by = row.silu;
        let dx = Multiplied { from: dy, by, to };
        input_gradient(dx, u, rstd, gamma, mean, k);
    }
    if let Some(to) = row.dgate {
        let by = Product {
            row: row.x,
            by: row.slope,
        };
        let dgate = Multiplied { from: dy, by, to };
        input_gradient(dgate, u, rstd, gamma, mean, k);
    }
}
