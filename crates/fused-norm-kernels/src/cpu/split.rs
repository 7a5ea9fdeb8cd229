//! How the work is cut into tasks, and when a second thread is worth it.

use alloc::vec::Vec;

use macerator::AutoArch;

use crate::Problem;

/// Elements below which one thread is faster than waking others.
const PARALLEL_ELEMENTS: usize = 32 * 1024;

/// Elements of a forward task: enough to forget what handing it to a thread costs.
const TASK_ELEMENTS: usize = 32 * 1024;

/// Tasks of a backward pass at most. Each has a partial row of dgamma and one of dbeta, and their
/// sum has one rounding a task.
const BACKWARD_TASKS: usize = 32;

/// Rows of one forward task.
pub(super) fn forward_rows(problem: &Problem) -> usize {
    (TASK_ELEMENTS / problem.row_len()).max(1)
}

/// Rows of one backward task: a function of the problem alone, so that dgamma's bits do not depend
/// on how many threads there are.
pub(super) fn backward_rows(problem: &Problem) -> usize {
    problem
        .rows()
        .div_ceil(BACKWARD_TASKS)
        .max(TASK_ELEMENTS / problem.row_len())
        .max(1)
}

/// Tasks that can run at once, and a few more to even out their times.
pub(super) fn wave(problem: &Problem) -> usize {
    if is_parallel(problem) {
        2 * threads()
    } else {
        1
    }
}

/// Runs every task, on several threads if the problem is worth it, each compiled for the best
/// instruction set that the processor has. `work` has to be inlined to be compiled so.
pub(super) fn run<Task: Send>(
    problem: &Problem,
    tasks: Vec<Task>,
    work: impl Fn(Task) + Send + Sync,
) {
    let work = |task| {
        AutoArch::new().dispatch(
            #[inline(always)]
            || work(task),
        );
    };
    #[cfg(feature = "std")]
    if is_parallel(problem) && tasks.len() > 1 {
        use rayon::prelude::*;
        return tasks.into_par_iter().for_each(work);
    }
    tasks.into_iter().for_each(work);
}

fn is_parallel(problem: &Problem) -> bool {
    problem.rows() > 1 && problem.elements() >= PARALLEL_ELEMENTS && threads() > 1
}

#[cfg(feature = "std")]
fn threads() -> usize {
    rayon::current_num_threads()
}

#[cfg(not(feature = "std"))]
fn threads() -> usize {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_is_one_task() {
        for row_len in [1, 4096, 10_000_000] {
            let problem = Problem::new(1, row_len, row_len, 1e-5).unwrap();
            assert!(!is_parallel(&problem));
            assert_eq!(wave(&problem), 1);
        }
    }

    #[test]
    fn backward_tasks_are_few_whatever_the_rows() {
        for rows in [1, 31, 32, 33, 1000, 1_000_003] {
            for row_len in [1, 64, 4096, 1_000_000] {
                let problem = Problem::new(rows, row_len, row_len, 1e-5).unwrap();
                assert!(rows.div_ceil(backward_rows(&problem)) <= BACKWARD_TASKS);
            }
        }
    }
}
