//! The forward pass: checks, and which rows become which.

use super::Gate;
use crate::cpu::factors::{Factors, GammaRows};
use crate::cpu::forward::{Task, run_tasks};
use crate::cpu::row::{
    Formed, Memory, Multiplied, Product, Same, Scratch, Streaming, columns, normalise_compactly,
    open, rstd,
};
use crate::cpu::split::streams;
use crate::cpu::{Affine, Element, Normalised, Rows};
use crate::{Error, GateOrder, Problem, Rounding};

/// `norm(x)·silu(gate)` or `norm(x·silu(gate))`, rounded once: the problem's
/// [rounding](Problem::rounding) is not asked.
///
/// # Errors
///
/// If a buffer does not fit the problem.
///
/// ```
/// use fused_norm_kernels::{GateOrder, Problem, cpu};
///
/// let problem = Problem::new(1, 2, 2, 1e-9)?;
/// let (x, gate) = ([3.0_f64, 4.0], [0.0, 100.0]);
/// let gate = cpu::Gate {
///     rows: cpu::Rows::dense(&gate, 2),
///     order: GateOrder::AfterNorm,
/// };
/// let x = cpu::Rows::dense(&x, 2);
/// let y = cpu::gated_forward(&problem, x, gate, cpu::Affine::None, false)?.y;
/// assert_eq!(y[0], 0.0); // silu(0) is 0, silu(100) nearly 100
/// assert!((y[1] - 80.0 * 2f64.sqrt()).abs() < 1e-6);
/// # Ok::<(), fused_norm_kernels::Error>(())
/// ```
pub fn gated_forward<T: Element>(
    problem: &Problem,
    x: Rows<'_, T>,
    gate: Gate<'_, T>,
    affine: Affine<'_, T::Statistic>,
    with_rstd: bool,
) -> Result<Normalised<T>, Error> {
    (T::instances().gated_forward)(problem, x, gate, affine, with_rstd)
}

pub(in crate::cpu) fn forward<T: Element>(
    problem: &Problem,
    x: Rows<'_, T>,
    gate: Gate<'_, T>,
    affine: Affine<'_, T::Statistic>,
    with_rstd: bool,
) -> Result<Normalised<T>, Error> {
    x.check("x", problem)?;
    gate.rows.check("gate", problem)?;
    let factors = Factors::backward(problem, affine)?;
    let affine = factors.affine();
    // SAFETY: `gate_rows` initialises every element of a task's y.
    let normalised = unsafe {
        run_tasks(
            problem,
            with_rstd,
            #[inline(always)]
            |task| gate_rows(problem, x, gate, affine, task),
        )
    };
    Ok(normalised)
}

/// Initialises all of `task.y`, which is a whole number of rows: `normalise_compactly` has every
/// block of each changed, of which `Multiplied` and `Formed` store every result.
#[inline(always)]
fn gate_rows<T: Element>(
    problem: &Problem,
    x: Rows<'_, T>,
    gate: Gate<'_, T>,
    affine: Affine<'_, T::Statistic>,
    task: Task<'_, T>,
) {
    let (row_len, k, epsilon) = (problem.row_len(), problem.stat_len(), problem.epsilon());
    let stream = Streaming::when(streams::<T>(problem));
    let mut silu = Scratch::new(row_len);
    let mut parameters = GammaRows::of(affine, problem, task.first_row);
    for (index, y) in task.y.chunks_exact_mut(row_len).enumerate() {
        let (_, affine) = parameters.take();
        let row = task.first_row + index;
        let x = x.row(row, row_len);
        open(gate.rows.row(row, row_len), &mut silu);
        let (gamma, beta) = columns(affine);
        let (by, to) = (silu.row(), Memory::new(y, stream.as_ref()));
        let rstd = match gate.order {
            GateOrder::AfterNorm => {
                let rstd = rstd::<T>(x, k, epsilon);
                let row = Multiplied { from: x, by, to };
                normalise_compactly::<T>(row, row_len, Same(rstd), gamma, beta, Rounding::Once);
                rstd
            }
            GateOrder::BeforeNorm => {
                let from = Product { row: x, by };
                let rstd = rstd(from, k, epsilon);
                let row = Formed { from, to };
                normalise_compactly::<T>(row, row_len, Same(rstd), gamma, beta, Rounding::Once);
                rstd
            }
        };
        if let Some(slot) = task.rstd.get_mut(index) {
            *slot = rstd;
        }
    }
}
