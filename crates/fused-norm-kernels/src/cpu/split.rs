//! How the work is cut into tasks, and when a second thread is worth it.

use macerator::AutoArch;

use super::row::STREAM_BYTES;
#[cfg(feature = "std")]
use super::threads;
use crate::Problem;

/// Elements below which one thread does it all. On two cores, in f32, one thread and two took 16.6 and
/// 20 µs forward and 17 and 37 µs backward at 64 Ki elements, and 81 and 58, 149 and 142 µs at 256 Ki.
#[cfg(feature = "std")]
const PARALLEL_ELEMENTS: usize = 128 * 1024;

/// Elements of a task at least: enough to forget what handing it to a thread costs.
const TASK_ELEMENTS: usize = 32 * 1024;

/// Forward tasks a thread: few, because neighbouring rows on one core are read faster, and more than
/// one to even out their times.
const FORWARD_TASKS_A_THREAD: usize = 4;

/// Elements of a backward task where there are enough: it ends by waiting for those before it.
const BACKWARD_TASK_ELEMENTS: usize = 256 * 1024;

/// A small backward pass is cut finer, down to [`TASK_ELEMENTS`], but into no more than this many.
const BACKWARD_FINE_TASKS: usize = 8;

/// Tasks of a backward pass at most. Each has a partial row of dgamma and one of dbeta, and their
/// sum has one rounding a task.
const BACKWARD_TASKS: usize = 32;

/// Rows of one forward task. Rows do not depend on each other, so this may depend on the threads.
pub(super) fn forward_rows(problem: &Problem) -> usize {
    forward_units(problem, problem.rows(), problem.row_len())
}

/// Units of one forward task, where there are `units` of `elements` elements each.
///
/// A problem for one thread does not ask how many there are: the question would start rayon's pool.
pub(super) fn forward_units(problem: &Problem, units: usize, elements: usize) -> usize {
    if !is_parallel(problem) {
        return units.max(1);
    }
    let share = units.div_ceil(threads() * FORWARD_TASKS_A_THREAD);
    share.max(TASK_ELEMENTS / elements).max(1)
}

/// Rows of one backward task: a function of the problem alone, so that dgamma's bits do not depend
/// on how many threads there are. No more tasks than rows take each row of gamma, so that all partial
/// sums together are no larger than x.
pub(super) fn backward_rows(problem: &Problem) -> usize {
    backward_units(problem, problem.rows(), problem.gamma_rows())
}

/// Units of one backward task, where each row of gamma is taken by one of `gamma_rows` units.
pub(super) fn backward_units(problem: &Problem, units: usize, gamma_rows: usize) -> usize {
    let fine = (problem.elements() / TASK_ELEMENTS).min(BACKWARD_FINE_TASKS);
    let coarse = (problem.elements() / BACKWARD_TASK_ELEMENTS).min(BACKWARD_TASKS);
    let tasks = fine.max(coarse).min(units / gamma_rows);
    units.div_ceil(tasks.max(1)).max(1)
}

/// Whether a new activation is too large for the caches, so that it is written past them.
pub(super) fn streams<T>(problem: &Problem) -> bool {
    problem.elements() * size_of::<T>() >= STREAM_BYTES
}

/// Runs every task, on several threads if the problem is worth it, each compiled for the best
/// instruction set that the processor has (`work` has to be inlined to be compiled so).
pub(super) fn each<Task: Send>(
    problem: &Problem,
    tasks: impl ExactSizeIterator<Item = Task> + Send,
    work: impl Fn(Task) + Sync,
) {
    let work = dispatched(work);
    #[cfg(feature = "std")]
    if is_parallel(problem) && tasks.len() > 1 {
        return threads::each(tasks, work);
    }
    let _ = problem;
    tasks.for_each(work);
}

/// [`each`], and calls `finish` with what the tasks return, in their order.
pub(super) fn run<Task: Send, Output>(
    problem: &Problem,
    tasks: impl ExactSizeIterator<Item = Task> + Send,
    work: impl Fn(Task) -> Output + Sync,
    mut finish: impl FnMut(Output) + Send,
) {
    let work = dispatched(work);
    #[cfg(feature = "std")]
    if is_parallel(problem) && tasks.len() > 1 {
        return threads::run(tasks, work, finish);
    }
    let _ = problem;
    tasks.for_each(|task| finish(work(task)));
}

fn dispatched<Task, Output>(
    work: impl Fn(Task) -> Output + Sync,
) -> impl Fn(Task) -> Output + Sync {
    move |task| {
        #[cfg(test)]
        if tests::BASELINE.get() {
            return work(task);
        }
        AutoArch::new().dispatch(
            #[inline(always)]
            || work(task),
        )
    }
}

#[cfg(feature = "std")]
fn is_parallel(problem: &Problem) -> bool {
    problem.rows() > 1 && problem.elements() >= PARALLEL_ELEMENTS && threads() > 1
}

#[cfg(feature = "std")]
fn threads() -> usize {
    rayon::current_num_threads()
}

#[cfg(not(feature = "std"))]
fn is_parallel(_: &Problem) -> bool {
    false
}

#[cfg(not(feature = "std"))]
fn threads() -> usize {
    1
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    std::thread_local! {
        /// Whether tasks on this thread do without what `macerator` finds on the processor.
        pub(in crate::cpu) static BASELINE: core::cell::Cell<bool> =
            const { core::cell::Cell::new(false) };
    }

    #[test]
    fn one_row_is_one_task() {
        for row_len in [1, 4096, 10_000_000] {
            let problem = Problem::new(1, row_len, row_len, 1e-5).unwrap();
            assert!(!is_parallel(&problem));
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

    fn plain(rows: usize, row_len: usize) -> Problem {
        Problem::new(rows, row_len, row_len, 1e-5).unwrap()
    }

    fn on_two_threads(work: impl FnOnce() + Send) {
        let two = rayon::ThreadPoolBuilder::new().num_threads(2).build();
        two.unwrap().install(work);
    }

    #[test]
    fn a_second_thread_takes_128_ki_elements() {
        on_two_threads(|| {
            assert!(!is_parallel(&plain(127, 1024)));
            assert!(is_parallel(&plain(128, 1024)));
        });
    }

    #[test]
    fn forward_tasks_are_four_a_thread_of_32_ki_elements_at_least() {
        on_two_threads(|| {
            for (rows, row_len, expected) in [
                (4096, 4096, 512),
                (4097, 4096, 513),
                (128, 1024, 32),
                (16_384, 64, 2048),
                (2, 131_072, 1),
                (64, 1024, 64),
                (0, 1024, 1),
            ] {
                let found = forward_rows(&plain(rows, row_len));
                assert_eq!(found, expected, "[{rows}, {row_len}]");
            }
        });
    }

    #[test]
    fn backward_tasks_are_fine_where_there_is_little_and_coarse_where_there_is_much() {
        for (rows, row_len, gamma_rows, expected) in [
            (16, 1024, 1, 16),
            (64, 1024, 1, 32),
            (256, 1024, 1, 32),
            (3072, 1024, 1, 256),
            (4096, 4096, 1, 128),
            (4096, 64, 1024, 1024),
            (0, 64, 1, 1),
        ] {
            let problem = plain(rows, row_len).with_gamma_rows(gamma_rows).unwrap();
            let found = backward_rows(&problem);
            assert_eq!(
                found, expected,
                "[{rows}, {row_len}], {gamma_rows} of gamma"
            );
        }
    }

    #[test]
    fn two_threads_work_at_the_same_time() {
        use std::sync::{Condvar, Mutex};
        let (arrived, changed) = (Mutex::new(0), Condvar::new());
        let meet = |_| {
            let mut arrived = arrived.lock().unwrap();
            *arrived += 1;
            changed.notify_all();
            let alone = |arrived: &mut i32| *arrived < 2;
            let patience = std::time::Duration::from_secs(10);
            let met = changed.wait_timeout_while(arrived, patience, alone);
            !met.unwrap().1.timed_out()
        };
        on_two_threads(|| run(&plain(128, 1024), 0..2_usize, meet, |met| assert!(met)));
        *arrived.lock().unwrap() = 0;
        on_two_threads(|| each(&plain(128, 1024), 0..2_usize, |task| assert!(meet(task))));
    }

    #[test]
    fn an_output_of_8_mib_goes_past_the_caches() {
        assert!(streams::<f32>(&plain(2048, 1024)));
        assert!(!streams::<f32>(&plain(2047, 1024)));
        assert!(!streams::<half::bf16>(&plain(2048, 1024)));
        assert!(streams::<f64>(&plain(1024, 1024)));
    }
}
