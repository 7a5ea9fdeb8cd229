//! The backward pass: checks, memory, and which task computes which rows.

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use super::Gate;
use super::row::{Row, after_norm, before_norm};
use crate::cpu::affine::check_length;
use crate::cpu::factors::{Factors, GammaRows};
use crate::cpu::row::{Memory, Scratch, Streaming, open, open_with_slope};
use crate::cpu::split::{self, streams};
use crate::cpu::sums::{Sums, TaskSums};
use crate::cpu::{Affine, Element, Rows};
use crate::{Error, GateOrder, Problem};

/// Which gradients are computed. The others are not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatedWanted {
    /// The gradient of x.
    pub dx: bool,
    /// The gradient of the gate.
    pub dgate: bool,
    /// The gradient of gamma.
    pub dgamma: bool,
    /// The gradient of beta.
    pub dbeta: bool,
}

/// The wanted gradients; what was not wanted is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct GatedGradients<T: Element> {
    /// `rows·row_len`, dense.
    pub dx: Option<Vec<T>>,
    /// `rows·row_len`, dense.
    pub dgate: Option<Vec<T>>,
    /// As many as gamma has, in the type of computation.
    pub dgamma: Option<Vec<T::Statistic>>,
    /// As many as beta has, in the type of computation.
    pub dbeta: Option<Vec<T::Statistic>>,
}

/// The wanted gradients of [`gated_forward`](super::gated_forward), from `dy` and what the forward pass
/// had and saved. With `s(v) = v·σ(v)` and `s'(v) = σ(v)·(1 + v·σ(−v))`: where the gate is behind the
/// normalisation, `dy·s(gate)` takes the part of dy in the formulas of
/// [`backward`](crate::cpu::backward()), and
///
/// ```text
/// dgate_j = dy_j · (x_j·rstd·gamma_j + beta_j) · s'(gate_j)
/// ```
///
/// Where it is before it, `u = x·s(gate)` takes the part of x, and, with the du that they give for it,
///
/// ```text
/// dx_j = du_j · s(gate_j)        dgate_j = du_j · x_j · s'(gate_j)
/// ```
///
/// # Errors
///
/// If a buffer does not fit the problem, or the gradient of a parameter is wanted that is not there.
///
/// ```
/// use fused_norm_kernels::{GateOrder, Problem, cpu};
///
/// let problem = Problem::new(1, 2, 2, 1e-9)?;
/// let (x, gate, dy) = ([3.0_f64, 4.0], [0.0, 0.0], [1.0, 1.0]);
/// let [x, gate, dy] = [&x, &gate, &dy].map(|rows| cpu::Rows::dense(rows, 2));
/// let gate = cpu::Gate { rows: gate, order: GateOrder::AfterNorm };
/// let affine = cpu::Affine::None;
/// let rstd = cpu::gated_forward(&problem, x, gate, affine, true)?.rstd.unwrap();
/// let wanted = cpu::GatedWanted { dx: true, dgate: true, dgamma: false, dbeta: false };
/// let gradients = cpu::gated_backward(&problem, dy, x, gate, &rstd, affine, wanted)?;
/// assert_eq!(gradients.dx.unwrap(), [0.0, 0.0]); // the gate is closed
/// assert_eq!(gradients.dgate.unwrap()[0], 0.5 * 3.0 * rstd[0]); // silu'(0) is a half
/// # Ok::<(), fused_norm_kernels::Error>(())
/// ```
pub fn gated_backward<T: Element>(
    problem: &Problem,
    dy: Rows<'_, T>,
    x: Rows<'_, T>,
    gate: Gate<'_, T>,
    rstd: &[T::Statistic],
    affine: Affine<'_, T::Statistic>,
    wanted: GatedWanted,
) -> Result<GatedGradients<T>, Error> {
    (T::instances().gated_backward)(problem, dy, x, gate, rstd, affine, wanted)
}

pub(in crate::cpu) fn backward<T: Element>(
    problem: &Problem,
    dy: Rows<'_, T>,
    x: Rows<'_, T>,
    gate: Gate<'_, T>,
    rstd: &[T::Statistic],
    affine: Affine<'_, T::Statistic>,
    wanted: GatedWanted,
) -> Result<GatedGradients<T>, Error> {
    for (buffer, rows) in [("dy", dy), ("x", x), ("gate", gate.rows)] {
        rows.check(buffer, problem)?;
    }
    check_length("rstd", problem.rows(), rstd.len())?;
    for (parameter, is_there, wanted) in [
        ("gamma", affine.gamma().is_some(), wanted.dgamma),
        ("beta", affine.beta().is_some(), wanted.dbeta),
    ] {
        if wanted && !is_there {
            return Err(Error::MissingParameter(parameter));
        }
    }
    let factors = Factors::backward(problem, affine)?;
    let saved = Saved {
        dy,
        x,
        gate,
        rstd,
        affine: factors.affine(),
        wanted,
    };

    let elements = problem.elements();
    let rows = split::backward_rows(problem);
    let mut dx = wanted.dx.then(|| Vec::with_capacity(elements));
    let mut dgate = wanted.dgate.then(|| Vec::with_capacity(elements));
    let [mut dx_chunks, mut dgate_chunks] = [&mut dx, &mut dgate].map(|gradient| {
        let gradient = gradient.as_mut()?;
        let memory = &mut gradient.spare_capacity_mut()[..elements];
        Some(memory.chunks_mut(rows * problem.row_len()))
    });
    let first_rows = (0..problem.rows()).step_by(rows);
    let tasks = first_rows.map(|first_row| Task {
        first_row,
        rows: rows.min(problem.rows() - first_row),
        dx: dx_chunks.as_mut().and_then(Iterator::next),
        dgate: dgate_chunks.as_mut().and_then(Iterator::next),
    });
    let mut sums = Sums::zeros(problem, wanted.dgamma, wanted.dbeta);
    split::run(
        problem,
        tasks,
        #[inline(always)]
        |task| gradient_rows(problem, &saved, task),
        |partial| sums.add(&partial),
    );
    for gradient in [&mut dx, &mut dgate].into_iter().flatten() {
        // The tasks' chunks cover the first `elements` without gap, in whole rows; where there is one,
        // `input_gradient` or `normalise_compactly` has every block of every row changed, of which
        // `Formed` and `Multiplied` store every result.
        // SAFETY: the capacity is at least `elements`, and the tasks have initialised each of them. A
        // task that panics does not get here.
        unsafe { gradient.set_len(elements) };
    }
    Ok(GatedGradients {
        dx,
        dgate,
        dgamma: wanted.dgamma.then_some(sums.dgamma),
        dbeta: wanted.dbeta.then_some(sums.dbeta),
    })
}

/// What a backward pass reads.
struct Saved<'a, T: Element> {
    dy: Rows<'a, T>,
    x: Rows<'a, T>,
    gate: Gate<'a, T>,
    rstd: &'a [T::Statistic],
    affine: Affine<'a, T::Statistic>,
    wanted: GatedWanted,
}

/// One task; the memory has its rows only.
struct Task<'a, T> {
    first_row: usize,
    rows: usize,
    dx: Option<&'a mut [MaybeUninit<T>]>,
    dgate: Option<&'a mut [MaybeUninit<T>]>,
}

/// The partial sums of the task's rows.
#[inline(always)]
fn gradient_rows<T: Element>(
    problem: &Problem,
    saved: &Saved<'_, T>,
    mut task: Task<'_, T>,
) -> Sums<T::Statistic> {
    let row_len = problem.row_len();
    let stream = Streaming::when(streams::<T>(problem));
    let wanted = saved.wanted;
    let turns = problem.gamma_rows();
    let mut running = TaskSums::zeros(problem, wanted.dgamma, wanted.dbeta, turns);
    let mut silu = Scratch::new(row_len);
    let mut slope = Scratch::new(if wanted.dgate { row_len } else { 0 });
    let mut parameters = GammaRows::of(saved.affine, problem, task.first_row);
    for index in 0..task.rows {
        running.begin();
        let sums = &mut running.sums;
        let (columns, affine) = parameters.take();
        let row = task.first_row + index;
        let range = index * row_len..(index + 1) * row_len;
        let gate = saved.gate.rows.row(row, row_len);
        match wanted.dgate {
            true => open_with_slope(gate, &mut silu, &mut slope),
            false => open(gate, &mut silu),
        }
        let dx = task.dx.as_deref_mut().map(|dx| &mut dx[range.clone()]);
        let dgate = task.dgate.as_deref_mut().map(|dgate| &mut dgate[range]);
        let row = Row {
            dy: saved.dy.row(row, row_len),
            x: saved.x.row(row, row_len),
            silu: silu.row(),
            slope: slope.row(),
            rstd: saved.rstd[row],
            affine,
            dx: dx.map(|dx| Memory::new(dx, stream.as_ref())),
            dgate: dgate.map(|dgate| Memory::new(dgate, stream.as_ref())),
            dgamma: wanted.dgamma.then(|| &mut sums.dgamma[columns.clone()]),
            dbeta: wanted.dbeta.then(|| &mut sums.dbeta[columns]),
        };
        match saved.gate.order {
            GateOrder::AfterNorm => after_norm(problem, row),
            GateOrder::BeforeNorm => before_norm(problem, row),
        }
    }
    running.finish()
}
