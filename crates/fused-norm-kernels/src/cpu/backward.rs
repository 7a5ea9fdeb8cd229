//! The backward pass: checks, memory, which task computes which rows, and the sum of the tasks'
//! partial dgamma and dbeta.

use alloc::vec;
use alloc::vec::Vec;
use core::mem::MaybeUninit;

use super::affine::check_length;
use super::row::{
    Copied, Discard, InPlace, Ones, Streamed, accumulate, correlate, fence, input_gradient,
};
use super::split::{self, streams};
use super::{Element, Rows, Statistic};
use crate::{Error, Problem};

/// Which gradients are computed. No work is done for the others.
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
    /// `row_len`, in the type of computation.
    pub dgamma: Option<Vec<T::Statistic>>,
    /// `row_len`, in the type of computation.
    pub dbeta: Option<Vec<T::Statistic>>,
}

/// What a backward pass reads beside dy.
struct Saved<'a, T: Element> {
    x: Rows<'a, T>,
    rstd: &'a [T::Statistic],
    gamma: Option<&'a [T::Statistic]>,
}

/// The gradients of [`forward`](super::forward), from `dy` and what the forward pass had and saved.
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
    dy.check("dy", problem)?;
    let saved = Saved::checked(problem, x, rstd, gamma, wanted)?;
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
    check_length("dy", problem.elements(), dy.len())?;
    let saved = Saved::checked(problem, x, rstd, gamma, wanted)?;
    let rows = split::backward_rows(problem);
    let sources = dy
        .chunks_mut(rows * problem.row_len())
        .map(Source::InPlace)
        .collect();
    Ok(run(problem, rows, sources, &saved, wanted))
}

impl<'a, T: Element> Saved<'a, T> {
    fn checked(
        problem: &Problem,
        x: Rows<'a, T>,
        rstd: &'a [T::Statistic],
        gamma: Option<&'a [T::Statistic]>,
        wanted: Wanted,
    ) -> Result<Self, Error> {
        x.check("x", problem)?;
        check_length("rstd", problem.rows(), rstd.len())?;
        if let Some(gamma) = gamma {
            check_length("gamma", problem.row_len(), gamma.len())?;
        } else if wanted.dgamma {
            return Err(Error::MissingParameter("gamma"));
        }
        Ok(Self { x, rstd, gamma })
    }
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

/// dgamma and dbeta, or what some rows add to them; empty if not wanted.
struct Sums<S> {
    dgamma: Vec<S>,
    dbeta: Vec<S>,
}

impl<S: Statistic> Sums<S> {
    fn zeros(row_len: usize, wanted: Wanted) -> Self {
        let zeros = |wanted| vec![S::default(); if wanted { row_len } else { 0 }];
        Self {
            dgamma: zeros(wanted.dgamma),
            dbeta: zeros(wanted.dbeta),
        }
    }

    fn add(&mut self, partial: &Self) {
        add(&mut self.dgamma, &partial.dgamma);
        add(&mut self.dbeta, &partial.dbeta);
    }
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
    let tasks = sources
        .into_iter()
        .enumerate()
        .map(|(index, source)| {
            let first_row = index * rows_a_task;
            Task {
                first_row,
                rows: rows_a_task.min(problem.rows() - first_row),
                source,
            }
        })
        .collect();
    let mut sums = Sums::zeros(problem.row_len(), wanted);
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

fn add<S: Statistic>(sums: &mut [S], terms: &[S]) {
    for (sum, term) in sums.iter_mut().zip(terms) {
        *sum += *term;
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
    let stream = streams::<T>(problem);
    let mut sums = Sums::zeros(row_len, wanted);
    let (dgamma, dbeta) = (&mut sums.dgamma[..], &mut sums.dbeta[..]);
    for index in 0..rows {
        let row = first_row + index;
        let x = saved.x.row(row, row_len);
        let rstd = saved.rstd[row];
        let range = index * row_len..(index + 1) * row_len;
        let dy = match &source {
            Source::Sums(dy) | Source::Copied(dy, _) => dy.row(row, row_len),
            Source::InPlace(dy) => &dy[range.clone()],
        };
        if wanted.dbeta {
            accumulate(dy, &mut &mut dbeta[..]);
        }
        let sum = match (wanted.dx, saved.gamma, wanted.dgamma) {
            (true, Some(gamma), true) => correlate(dy, x, rstd, gamma, &mut &mut dgamma[..]),
            (true, Some(gamma), false) => correlate(dy, x, rstd, gamma, &mut Discard),
            (true, None, _) => correlate(dy, x, rstd, Ones, &mut Discard),
            (false, _, true) => {
                correlate(dy, x, rstd, Ones, &mut &mut dgamma[..]);
                continue;
            }
            (false, _, false) => continue,
        };
        let mean = T::Statistic::from_f64(sum / problem.stat_len() as f64);
        let k = problem.stat_len();
        match (&mut source, saved.gamma) {
            (Source::Sums(_), _) => {}
            (Source::Copied(dy, dx), gamma) => {
                let row = Copied {
                    from: dy.row(row, row_len),
                    to: &mut dx[range],
                };
                match (gamma, stream) {
                    (Some(gamma), true) => input_gradient(Streamed(row), x, rstd, gamma, mean, k),
                    (Some(gamma), false) => input_gradient(row, x, rstd, gamma, mean, k),
                    (None, true) => input_gradient(Streamed(row), x, rstd, Ones, mean, k),
                    (None, false) => input_gradient(row, x, rstd, Ones, mean, k),
                }
            }
            (Source::InPlace(dy), gamma) => {
                let row = InPlace(&mut dy[range]);
                match gamma {
                    Some(gamma) => input_gradient(row, x, rstd, gamma, mean, k),
                    None => input_gradient(row, x, rstd, Ones, mean, k),
                }
            }
        }
    }
    if stream {
        fence();
    }
    sums
}

/// One row as one task, for tests: dx, which overwrites dy, and the terms of dgamma.
#[cfg(test)]
#[inline(always)]
pub(super) fn gradient_row<T: Element>(
    problem: &Problem,
    x: Rows<'_, T>,
    rstd: T::Statistic,
    gamma: &[T::Statistic],
    dy: &mut [T],
) -> Vec<T::Statistic> {
    let saved = Saved {
        x,
        rstd: &[rstd],
        gamma: Some(gamma),
    };
    let wanted = Wanted {
        dx: true,
        dgamma: true,
        dbeta: false,
    };
    let task = Task {
        first_row: 0,
        rows: 1,
        source: Source::InPlace(dy),
    };
    gradient_rows(problem, &saved, wanted, task).dgamma
}
