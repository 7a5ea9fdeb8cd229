//! The backward pass: checks, memory, which task computes which rows, and the sum of the tasks'
//! partial dgamma and dbeta.

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use super::affine::{Affine, check_length};
use super::factors::{Factors, GammaRows};
use super::row::{
    Copied, Discard, InPlace, New, Ones, Same, Streaming, accumulate, correlate, input_gradient,
};
use super::split::{self, streams};
use super::sums::{Sums, TaskSums};
use super::{Element, Rows};
use crate::{Error, Problem};

/// Which gradients are computed. The others are not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The gradient of x.
    pub dx: bool,
    /// The gradient of gamma.
    pub dgamma: bool,
    /// The gradient of beta.
    pub dbeta: bool,
}

/// The wanted gradients; what was not wanted is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct Gradients<T: Element> {
    /// `rows·row_len`, dense; `None` too where dx has overwritten dy.
    pub dx: Option<Vec<T>>,
    /// As many as gamma has, in the type of computation.
    pub dgamma: Option<Vec<T::Statistic>>,
    /// As many as gamma has, or would have, in the type of computation.
    pub dbeta: Option<Vec<T::Statistic>>,
}

/// What a backward pass reads beside dy.
struct Saved<'a, T: Element> {
    x: Rows<'a, T>,
    rstd: &'a [T::Statistic],
    affine: Affine<'a, T::Statistic>,
}

/// The wanted gradients of [`forward`](super::forward()), from `dy` and what the forward pass had and
/// saved:
///
/// ```text
/// a_j  = dy_j · gamma_j        c = Σ_j a_j · x_j
/// dx_j = rstd · (a_j − [j < stat_len] · (x_j·rstd) · ((c·rstd)/stat_len))
/// dgamma_j = Σ_rows dy_j · x_j·rstd        dbeta_j = Σ_rows dy_j
/// ```
///
/// The sums are over the rows that take the same row of gamma. Where the factor is `1 + gamma`, it is so
/// here as well; where a row is rounded on its way to y does not count.
///
/// # Errors
///
/// If a buffer does not fit the problem, or dgamma is wanted without gamma.
pub fn backward<T: Element>(
    problem: &Problem,
    dy: Rows<'_, T>,
    x: Rows<'_, T>,
    rstd: &[T::Statistic],
    gamma: Option<&[T::Statistic]>,
    wanted: Wanted,
) -> Result<Gradients<T>, Error> {
    (T::instances().backward)(problem, dy, x, rstd, gamma, wanted)
}

pub(in crate::cpu) fn into_new<T: Element>(
    problem: &Problem,
    dy: Rows<'_, T>,
    x: Rows<'_, T>,
    rstd: &[T::Statistic],
    gamma: Option<&[T::Statistic]>,
    wanted: Wanted,
) -> Result<Gradients<T>, Error> {
    dy.check("dy", problem)?;
    x.check("x", problem)?;
    let factors = check_saved::<T>(problem, rstd, gamma, wanted)?;
    let affine = factors.affine();
    let saved = Saved { x, rstd, affine };
    let rows = split::backward_rows(problem);
    let elements = problem.elements();
    if !wanted.dx {
        let sources = (0..problem.rows().div_ceil(rows)).map(|_| Source::<T>::Sums(dy));
        return Ok(run(problem, rows, sources.collect(), &saved, wanted));
    }
    let mut dx = Vec::with_capacity(elements);
    let sources = dx.spare_capacity_mut()[..elements]
        .chunks_mut(rows * problem.row_len())
        .map(|dx| Source::Copied(dy, dx))
        .collect();
    let sums = run(problem, rows, sources, &saved, wanted);
    // SAFETY: the capacity is at least `elements`, and the tasks have initialised each of them:
    // their chunks cover the first `elements` without gap, each is a whole number of rows, and
    // `input_gradient` stores every block of every row. A task that panics does not get here.
    unsafe { dx.set_len(elements) };
    Ok(Gradients {
        dx: Some(dx),
        ..sums
    })
}

/// [`backward`] with dx wanted, which overwrites `dy`, dense: the same bits.
///
/// # Errors
///
/// If a buffer does not fit the problem, or dgamma is wanted without gamma; `dy` is as it was.
pub fn backward_in_place<T: Element>(
    problem: &Problem,
    dy: &mut [T],
    x: Rows<'_, T>,
    rstd: &[T::Statistic],
    gamma: Option<&[T::Statistic]>,
    wanted: Wanted,
) -> Result<Gradients<T>, Error> {
    (T::instances().backward_in_place)(problem, dy, x, rstd, gamma, wanted)
}

pub(in crate::cpu) fn in_place<T: Element>(
    problem: &Problem,
    dy: &mut [T],
    x: Rows<'_, T>,
    rstd: &[T::Statistic],
    gamma: Option<&[T::Statistic]>,
    wanted: Wanted,
) -> Result<Gradients<T>, Error> {
    check_length("dy", problem.elements(), dy.len())?;
    x.check("x", problem)?;
    let factors = check_saved::<T>(problem, rstd, gamma, wanted)?;
    let affine = factors.affine();
    let saved = Saved { x, rstd, affine };
    let rows = split::backward_rows(problem);
    let sources = dy
        .chunks_mut(rows * problem.row_len())
        .map(Source::InPlace)
        .collect();
    Ok(run(problem, rows, sources, &saved, wanted))
}

/// Checks what a forward pass has saved beside x, and makes of gamma what enters the gradients.
pub(super) fn check_saved<'a, T: Element>(
    problem: &Problem,
    rstd: &[T::Statistic],
    gamma: Option<&'a [T::Statistic]>,
    wanted: Wanted,
) -> Result<Factors<'a, T::Statistic>, Error> {
    check_length("rstd", problem.rows(), rstd.len())?;
    if gamma.is_none() && wanted.dgamma {
        return Err(Error::MissingParameter("gamma"));
    }
    let affine = gamma.map_or(Affine::None, |gamma| Affine::Scale { gamma });
    Factors::backward(problem, affine)
}

/// Where a task's dy is, and its dx goes.
enum Source<'a, T> {
    /// dx is not wanted.
    Sums(Rows<'a, T>),
    /// dx goes to new memory, which has the rows of this task only.
    Copied(Rows<'a, T>, &'a mut [MaybeUninit<T>]),
    /// dx overwrites dy; both have the rows of this task only.
    InPlace(&'a mut [T]),
}

/// One task.
struct Task<'a, T> {
    first_row: usize,
    rows: usize,
    source: Source<'a, T>,
}

/// Runs the tasks; dx is where their sources say. Their partial sums are added in the order of their
/// rows, so the bits of dgamma and dbeta do not depend on the number of threads.
fn run<T: Element>(
    problem: &Problem,
    rows_a_task: usize,
    sources: Vec<Source<'_, T>>,
    saved: &Saved<'_, T>,
    wanted: Wanted,
) -> Gradients<T> {
    let tasks = sources.into_iter().enumerate().map(|(index, source)| {
        let first_row = index * rows_a_task;
        Task {
            first_row,
            rows: rows_a_task.min(problem.rows() - first_row),
            source,
        }
    });
    let mut sums = Sums::zeros(problem, wanted.dgamma, wanted.dbeta);
    split::run(
        problem,
        tasks,
        #[inline(always)]
        |task| gradient_rows(problem, saved, wanted, task),
        |partial| sums.add(&partial),
    );
    Gradients {
        dx: None,
        dgamma: wanted.dgamma.then_some(sums.dgamma),
        dbeta: wanted.dbeta.then_some(sums.dbeta),
    }
}

/// The partial sums of the task's rows.
#[inline(always)]
fn gradient_rows<T: Element>(
    problem: &Problem,
    saved: &Saved<'_, T>,
    wanted: Wanted,
    task: Task<'_, T>,
) -> Sums<T::Statistic> {
    let row_len = problem.row_len();
    let Task {
        first_row,
        rows,
        mut source,
    } = task;
    let stream = Streaming::when(streams::<T>(problem));
    let turns = problem.gamma_rows();
    let mut running = TaskSums::zeros(problem, wanted.dgamma, wanted.dbeta, turns);
    let mut parameters = GammaRows::of(saved.affine, problem, first_row);
    for index in 0..rows {
        running.begin();
        let sums = &mut running.sums;
        let (columns, affine) = parameters.take();
        let row = first_row + index;
        let x = saved.x.row(row, row_len);
        let rstd = saved.rstd[row];
        let range = index * row_len..(index + 1) * row_len;
        let gamma = affine.gamma();
        let dy = match &source {
            Source::Sums(dy) | Source::Copied(dy, _) => dy.row(row, row_len),
            Source::InPlace(dy) => &dy[range.clone()],
        };
        if wanted.dbeta {
            accumulate::<T>(dy, &mut &mut sums.dbeta[columns.clone()]);
        }
        let sum = match (wanted.dx, gamma, wanted.dgamma) {
            (true, Some(gamma), true) => {
                let dgamma = &mut &mut sums.dgamma[columns];
                correlate::<T>(dy, x, rstd, gamma, dgamma)
            }
            (true, Some(gamma), false) => correlate::<T>(dy, x, rstd, gamma, &mut Discard),
            (true, None, _) => correlate::<T>(dy, x, rstd, Ones, &mut Discard),
            (false, _, true) => {
                let dgamma = &mut &mut sums.dgamma[columns];
                correlate::<T>(dy, x, rstd, Ones, dgamma);
                continue;
            }
            (false, _, false) => continue,
        };
        let k = problem.stat_len();
        let mean = Same(T::Statistic::from_f64(sum / k as f64));
        let rstd = Same(rstd);
        match (&mut source, &stream) {
            (Source::Sums(_), _) => {}
            (Source::Copied(dy, dx), Some(stream)) => {
                let row = Copied {
                    from: dy.row(row, row_len),
                    to: stream.to(&mut dx[range]),
                };
                match gamma {
                    Some(gamma) => input_gradient::<T>(row, x, rstd, gamma, mean, k),
                    None => input_gradient::<T>(row, x, rstd, Ones, mean, k),
                }
            }
            (Source::Copied(dy, dx), None) => {
                let row = Copied {
                    from: dy.row(row, row_len),
                    to: New(&mut dx[range]),
                };
                match gamma {
                    Some(gamma) => input_gradient::<T>(row, x, rstd, gamma, mean, k),
                    None => input_gradient::<T>(row, x, rstd, Ones, mean, k),
                }
            }
            (Source::InPlace(dy), _) => {
                let row = InPlace(&mut dy[range]);
                match gamma {
                    Some(gamma) => input_gradient::<T>(row, x, rstd, gamma, mean, k),
                    None => input_gradient::<T>(row, x, rstd, Ones, mean, k),
                }
            }
        }
    }
    running.finish()
}
