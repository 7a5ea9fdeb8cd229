//! The forward pass: checks, memory, and which task computes which rows.

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use super::affine::check_length;
use super::row::{Copied, InPlace, Streamed, fence, normalise, rstd};
use super::split::{self, streams};
use super::{Affine, Element, Rows};
use crate::{Error, Problem};

/// `y`, dense.
///
/// # Errors
///
/// If a buffer does not fit the problem.
pub fn forward<T: Element>(
    problem: &Problem,
    x: Rows<'_, T>,
    affine: Affine<'_, T::Statistic>,
) -> Result<Vec<T>, Error> {
    forward_new(problem, x, affine, &mut [])
}

/// `y`, dense, and the rstd of every row.
///
/// # Errors
///
/// If a buffer does not fit the problem.
#[allow(clippy::type_complexity)]
pub fn forward_with_rstd<T: Element>(
    problem: &Problem,
    x: Rows<'_, T>,
    affine: Affine<'_, T::Statistic>,
) -> Result<(Vec<T>, Vec<T::Statistic>), Error> {
    let mut rstd = alloc::vec![T::Statistic::default(); problem.rows()];
    let y = forward_new(problem, x, affine, &mut rstd)?;
    Ok((y, rstd))
}

/// Overwrites `x`, dense, with `y`: the same bits as [`forward`].
///
/// # Errors
///
/// If a buffer does not fit the problem; `x` is as it was.
///
/// ```
/// use fused_norm_kernels::{Problem, cpu};
///
/// let mut rows = [3.0_f64, 4.0, 6.0, 8.0];
/// let problem = Problem::new(2, 2, 2, 1e-9)?;
/// cpu::forward_in_place(&problem, &mut rows, cpu::Affine::None)?;
/// assert!((rows[0] - 0.6 * 2f64.sqrt()).abs() < 1e-9);
/// # Ok::<(), fused_norm_kernels::Error>(())
/// ```
pub fn forward_in_place<T: Element>(
    problem: &Problem,
    x: &mut [T],
    affine: Affine<'_, T::Statistic>,
) -> Result<(), Error> {
    check_length("x", problem.elements(), x.len())?;
    affine.check(problem)?;
    let rows = split::forward_rows(problem);
    let tasks = x.chunks_mut(rows * problem.row_len()).collect();
    split::run(
        problem,
        tasks,
        #[inline(always)]
        |x| overwrite_rows(problem, x, affine),
        |()| {},
    );
    Ok(())
}

/// One task of a forward pass into new memory.
struct Task<'a, T: Element> {
    first_row: usize,
    y: &'a mut [MaybeUninit<T>],
    /// Empty if rstd is not wanted.
    rstd: &'a mut [T::Statistic],
}

/// `rstd` has one element a row, or none if it is not wanted.
fn forward_new<T: Element>(
    problem: &Problem,
    x: Rows<'_, T>,
    affine: Affine<'_, T::Statistic>,
    rstd: &mut [T::Statistic],
) -> Result<Vec<T>, Error> {
    x.check("x", problem)?;
    affine.check(problem)?;
    let mut y = Vec::with_capacity(problem.elements());
    let rows = split::forward_rows(problem);
    let outputs = y.spare_capacity_mut()[..problem.elements()].chunks_mut(rows * problem.row_len());
    let mut rstd = rstd.chunks_mut(rows);
    let tasks = outputs
        .enumerate()
        .map(|(index, y)| Task {
            first_row: index * rows,
            y,
            rstd: rstd.next().unwrap_or_default(),
        })
        .collect();
    split::run(
        problem,
        tasks,
        #[inline(always)]
        |task| normalise_rows(problem, x, affine, task),
        |()| {},
    );
    // SAFETY: the capacity is at least `elements`, and `normalise_rows` has initialised each of
    // them: the tasks' outputs cover the first `elements` without gap, each is a whole number of
    // rows, and `normalise` stores every block of every row. A task that panics does not get here.
    unsafe { y.set_len(problem.elements()) };
    Ok(y)
}

#[inline(always)]
fn normalise_rows<T: Element>(
    problem: &Problem,
    x: Rows<'_, T>,
    affine: Affine<'_, T::Statistic>,
    task: Task<'_, T>,
) {
    let row_len = problem.row_len();
    let stream = streams::<T>(problem);
    for (index, y) in task.y.chunks_exact_mut(row_len).enumerate() {
        let x = x.row(task.first_row + index, row_len);
        let rstd = rstd(x, problem.stat_len(), problem.epsilon());
        let row = Copied { from: x, to: y };
        match stream {
            true => normalise(Streamed(row), row_len, rstd, affine),
            false => normalise(row, row_len, rstd, affine),
        }
        if let Some(slot) = task.rstd.get_mut(index) {
            *slot = rstd;
        }
    }
    if stream {
        fence();
    }
}

#[inline(always)]
fn overwrite_rows<T: Element>(problem: &Problem, rows: &mut [T], affine: Affine<'_, T::Statistic>) {
    for row in rows.chunks_exact_mut(problem.row_len()) {
        let rstd = rstd(row, problem.stat_len(), problem.epsilon());
        normalise(InPlace(row), problem.row_len(), rstd, affine);
    }
}

/// One row as one task, for tests: y and its rstd.
#[cfg(test)]
#[inline(always)]
pub(super) fn normalise_row<T: Element>(
    problem: &Problem,
    x: Rows<'_, T>,
    affine: Affine<'_, T::Statistic>,
) -> (Vec<T>, T::Statistic) {
    let mut y = Vec::with_capacity(problem.row_len());
    let mut rstd = [T::Statistic::default()];
    let task = Task {
        first_row: 0,
        y: &mut y.spare_capacity_mut()[..problem.row_len()],
        rstd: &mut rstd,
    };
    normalise_rows(problem, x, affine, task);
    // SAFETY: `normalise_rows` has stored every element of the row.
    unsafe { y.set_len(problem.row_len()) };
    (y, rstd[0])
}
