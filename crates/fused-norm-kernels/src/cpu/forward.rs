//! The forward pass: checks, memory, and which task computes which rows.

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use super::affine::check_length;
use super::factors::{Factors, GammaRows};
use super::row::{
    Copied, InPlace, Leaving, New, Streaming, normalise, rows_at_once, rstd_of_batch,
};
use super::split::{self, streams};
use super::{Affine, Element, Rows};
use crate::{Error, Problem};

/// What a forward pass returns.
#[derive(Debug, Clone, PartialEq)]
pub struct Normalised<T: Element> {
    /// `rows·row_len`, dense.
    pub y: Vec<T>,
    /// One a row, if wanted.
    pub rstd: Option<Vec<T::Statistic>>,
}

/// y of every row, dense:
///
/// ```text
/// rstd = 1/√((1/stat_len)·Σ_{i<stat_len} x_i² + epsilon)
/// y_j  = x_j · rstd · gamma_j + beta_j
/// ```
///
/// where gamma and beta are there; row r takes row `r % gamma_rows` of them. It is rounded once, or as
/// [`Rounding`](crate::Rounding) says.
///
/// # Errors
///
/// If a buffer does not fit the problem.
///
/// ```
/// use fused_norm_kernels::{Problem, cpu};
///
/// // Two heads, each with its own gamma around zero: row r takes row r % 2 of it.
/// let problem = Problem::new(4, 2, 2, 1e-9)?.with_gamma_rows(2)?.with_zero_centered(true);
/// let x = [1.0_f64, 1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 5.0];
/// let affine = cpu::Affine::Scale { gamma: &[0.0, 0.0, 1.0, 2.0] };
/// let y = cpu::forward(&problem, cpu::Rows::dense(&x, 2), affine)?;
/// for (y, expected) in y.iter().zip([1.0, 1.0, 2.0, 3.0, 1.0, 1.0, 2.0, 3.0]) {
///     assert!((y - expected).abs() < 1e-8);
/// }
/// # Ok::<(), fused_norm_kernels::Error>(())
/// ```
pub fn forward<T: Element>(
    problem: &Problem,
    x: Rows<'_, T>,
    affine: Affine<'_, T::Statistic>,
) -> Result<Vec<T>, Error> {
    Ok((T::instances().forward)(problem, x, affine, false)?.y)
}

/// y of every row, dense, as [`forward`] computes it, and its rstd, in the type of computation: what
/// [`backward`](super::backward()) needs.
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
    let Normalised { y, rstd } = (T::instances().forward)(problem, x, affine, true)?;
    Ok((y, rstd.unwrap_or_default()))
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
    (T::instances().forward_in_place)(problem, x, affine)
}

pub(in crate::cpu) fn in_place<T: Element>(
    problem: &Problem,
    x: &mut [T],
    affine: Affine<'_, T::Statistic>,
) -> Result<(), Error> {
    check_length("x", problem.elements(), x.len())?;
    let factors = Factors::forward::<T>(problem, affine)?;
    let affine = factors.affine();
    let rows = split::forward_rows(problem);
    let tasks = x.chunks_mut(rows * problem.row_len()).enumerate();
    split::each(
        problem,
        tasks,
        #[inline(always)]
        |(index, x)| overwrite_rows(problem, index * rows, x, affine),
    );
    Ok(())
}

/// One task of a forward pass into new memory.
pub(super) struct Task<'a, T: Element> {
    pub first_row: usize,
    pub y: &'a mut [MaybeUninit<T>],
    /// Empty if rstd is not wanted.
    pub rstd: &'a mut [T::Statistic],
}

pub(in crate::cpu) fn into_new<T: Element>(
    problem: &Problem,
    x: Rows<'_, T>,
    affine: Affine<'_, T::Statistic>,
    with_rstd: bool,
) -> Result<Normalised<T>, Error> {
    x.check("x", problem)?;
    let factors = Factors::forward::<T>(problem, affine)?;
    let affine = factors.affine();
    // SAFETY: `normalise_rows` initialises every element of a task's y.
    let normalised = unsafe {
        run_tasks(
            problem,
            with_rstd,
            #[inline(always)]
            |task| normalise_rows(problem, x, affine, task),
        )
    };
    Ok(normalised)
}

/// Has the rows of a problem written into new memory, a task at a time.
///
/// # Safety
///
/// `write` initialises every element of its task's y.
pub(super) unsafe fn run_tasks<T: Element>(
    problem: &Problem,
    with_rstd: bool,
    write: impl Fn(Task<'_, T>) + Sync,
) -> Normalised<T> {
    let mut y = Vec::with_capacity(problem.elements());
    let mut rstd = with_rstd.then(|| alloc::vec![T::Statistic::default(); problem.rows()]);
    let rows = split::forward_rows(problem);
    let outputs = y.spare_capacity_mut()[..problem.elements()].chunks_mut(rows * problem.row_len());
    let mut rstds = rstd.as_deref_mut().unwrap_or_default().chunks_mut(rows);
    let tasks = outputs.enumerate().map(|(index, y)| Task {
        first_row: index * rows,
        y,
        rstd: rstds.next().unwrap_or_default(),
    });
    split::each(problem, tasks, write);
    // SAFETY: the capacity is at least `elements`, and each of them is initialised: the tasks'
    // outputs cover the first `elements` without gap, and `write` initialises all of its output, as
    // the caller promises. A task that panics does not get here.
    unsafe { y.set_len(problem.elements()) };
    Normalised { y, rstd }
}

/// Initialises all of `task.y`, which is a whole number of rows: `normalise` stores every block of
/// each.
#[inline(always)]
fn normalise_rows<T: Element>(
    problem: &Problem,
    x: Rows<'_, T>,
    affine: Affine<'_, T::Statistic>,
    task: Task<'_, T>,
) {
    let row_len = problem.row_len();
    let rounding = problem.rounding();
    let stream = Streaming::when(streams::<T>(problem));
    let next_follows = x.are_dense(row_len);
    let batch = rows_at_once(row_len);
    let mut parameters = GammaRows::of(affine, problem, task.first_row);
    for (index, y) in task.y.chunks_mut(batch * row_len).enumerate() {
        let first = index * batch;
        let rows = y.len() / row_len;
        let row = |index| x.row(task.first_row + first + index, row_len);
        let rstds = rstd_of_batch(rows, row, problem.stat_len(), problem.epsilon());
        for (index, y) in y.chunks_exact_mut(row_len).enumerate() {
            let (from, rstd) = (row(index), rstds[index]);
            let (_, affine) = parameters.take();
            if let Some(stream) = &stream {
                let from = Leaving {
                    row: from,
                    next_follows,
                };
                let to = stream.to(y);
                normalise::<T>(Copied { from, to }, row_len, rstd, affine, rounding);
            } else {
                let to = New(y);
                normalise::<T>(Copied { from, to }, row_len, rstd, affine, rounding);
            }
        }
        if !task.rstd.is_empty() {
            task.rstd[first..first + rows].copy_from_slice(&rstds[..rows]);
        }
    }
}

#[inline(always)]
fn overwrite_rows<T: Element>(
    problem: &Problem,
    first_row: usize,
    rows: &mut [T],
    affine: Affine<'_, T::Statistic>,
) {
    let row_len = problem.row_len();
    let mut parameters = GammaRows::of(affine, problem, first_row);
    for rows in rows.chunks_mut(rows_at_once(row_len) * row_len) {
        let row = |index| &rows[index * row_len..][..row_len];
        let (k, epsilon) = (problem.stat_len(), problem.epsilon());
        let rstds = rstd_of_batch(rows.len() / row_len, row, k, epsilon);
        for (index, row) in rows.chunks_exact_mut(row_len).enumerate() {
            let (rstd, (_, affine)) = (rstds[index], parameters.take());
            normalise(InPlace(row), row_len, rstd, affine, problem.rounding());
        }
    }
}
