//! Forward of the norm of a sum: `y = norm(x + residual)`, and the sum.

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use super::factors::{Factors, GammaRows};
use super::row::{
    New, Same, Streaming, Sum, SumAndNorm, columns, normalise_compactly, rows_at_once,
    rstd_of_batch,
};
use super::split::{self, streams};
use super::{Affine, Element, Rows};
use crate::{Error, Problem};

/// What [`add_forward`] returns.
#[derive(Debug, Clone, PartialEq)]
pub struct Added<T: Element> {
    /// `norm(x + residual)`, `rows·row_len`, dense.
    pub y: Vec<T>,
    /// `x + residual`, `rows·row_len`, dense.
    pub sum: Vec<T>,
    /// One a row, if wanted.
    pub rstd: Option<Vec<T::Statistic>>,
}

/// `sum = x + residual` and `y`, the norm of the sum, of the unrounded one also where `sum` is
/// rounded to 16 bits. Its gradients are those of [`forward`](super::forward) at `sum`.
///
/// # Errors
///
/// If a buffer does not fit the problem.
///
/// ```
/// use fused_norm_kernels::{Problem, cpu};
///
/// let problem = Problem::new(1, 2, 2, 1e-9)?;
/// let (x, residual) = ([1.0_f64, 5.0], [2.0, -1.0]);
/// let (x, residual) = (cpu::Rows::dense(&x, 2), cpu::Rows::dense(&residual, 2));
/// let added = cpu::add_forward(&problem, x, residual, cpu::Affine::None, false)?;
/// assert_eq!(added.sum, [3.0, 4.0]);
/// assert!((added.y[1] - 0.8 * 2f64.sqrt()).abs() < 1e-9);
/// # Ok::<(), fused_norm_kernels::Error>(())
/// ```
pub fn add_forward<T: Element>(
    problem: &Problem,
    x: Rows<'_, T>,
    residual: Rows<'_, T>,
    affine: Affine<'_, T::Statistic>,
    with_rstd: bool,
) -> Result<Added<T>, Error> {
    (T::instances().add_forward)(problem, x, residual, affine, with_rstd)
}

pub(in crate::cpu) fn forward<T: Element>(
    problem: &Problem,
    x: Rows<'_, T>,
    residual: Rows<'_, T>,
    affine: Affine<'_, T::Statistic>,
    with_rstd: bool,
) -> Result<Added<T>, Error> {
    x.check("x", problem)?;
    residual.check("residual", problem)?;
    let factors = Factors::forward::<T>(problem, affine)?;
    let affine = factors.affine();
    let elements = problem.elements();
    let (mut y, mut sum) = (Vec::with_capacity(elements), Vec::with_capacity(elements));
    let mut rstd = with_rstd.then(|| alloc::vec![T::Statistic::default(); problem.rows()]);

    let rows = split::forward_rows(problem);
    let chunk = rows * problem.row_len();
    let mut rstds = rstd.as_deref_mut().unwrap_or_default().chunks_mut(rows);
    let tasks = y.spare_capacity_mut()[..elements]
        .chunks_mut(chunk)
        .zip(sum.spare_capacity_mut()[..elements].chunks_mut(chunk))
        .enumerate()
        .map(|(index, (y, sum))| Task {
            first_row: index * rows,
            y,
            sum,
            rstd: rstds.next().unwrap_or_default(),
        });
    split::each(
        problem,
        tasks,
        #[inline(always)]
        |task| add_rows(problem, x, residual, affine, task),
    );
    // The tasks' outputs cover the first `elements` of both without gap, in whole rows; of every block
    // of a row that `normalise_compactly` has changed, `SumAndNorm` stores one of either output.
    // SAFETY: both capacities are at least `elements`, and `add_rows` has initialised each of them. A
    // task that panics does not get here.
    unsafe {
        y.set_len(elements);
        sum.set_len(elements);
    }
    Ok(Added { y, sum, rstd })
}

struct Task<'a, T: Element> {
    first_row: usize,
    y: &'a mut [MaybeUninit<T>],
    sum: &'a mut [MaybeUninit<T>],
    /// Empty if rstd is not wanted.
    rstd: &'a mut [T::Statistic],
}

#[inline(always)]
fn add_rows<T: Element>(
    problem: &Problem,
    x: Rows<'_, T>,
    residual: Rows<'_, T>,
    affine: Affine<'_, T::Statistic>,
    task: Task<'_, T>,
) {
    let row_len = problem.row_len();
    let rounding = problem.rounding();
    let stream = Streaming::when(streams::<T>(problem));
    let next_follows = [x, residual].map(|rows| rows.are_dense(row_len));
    let batch = rows_at_once(row_len);
    let mut parameters = GammaRows::of(affine, problem, task.first_row);
    let outputs = task.y.chunks_mut(batch * row_len);
    let outputs = outputs.zip(task.sum.chunks_mut(batch * row_len));
    for (index, (y, sum)) in outputs.enumerate() {
        let first = index * batch;
        let rows = y.len() / row_len;
        let row = |index| Sum {
            x: x.row(task.first_row + first + index, row_len),
            residual: residual.row(task.first_row + first + index, row_len),
        };
        let rstds = rstd_of_batch(rows, row, problem.stat_len(), problem.epsilon());
        let outputs = y.chunks_exact_mut(row_len);
        let outputs = outputs.zip(sum.chunks_exact_mut(row_len)).enumerate();
        for (index, (y, sum)) in outputs {
            let (from, factor) = (row(index), Same(rstds[index]));
            let (gamma, beta) = columns(parameters.take().1);
            if let Some(stream) = &stream {
                let (y, sum) = (stream.to(y), stream.to(sum));
                let row = SumAndNorm {
                    from,
                    next_follows,
                    sum,
                    y,
                };
                normalise_compactly(row, row_len, factor, gamma, beta, rounding);
            } else {
                let (y, sum) = (New(y), New(sum));
                let row = SumAndNorm {
                    from,
                    next_follows,
                    sum,
                    y,
                };
                normalise_compactly(row, row_len, factor, gamma, beta, rounding);
            }
        }
        if !task.rstd.is_empty() {
            task.rstd[first..first + rows].copy_from_slice(&rstds[..rows]);
        }
    }
}
