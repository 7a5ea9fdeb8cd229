//! Several threads take tasks from one queue.
//!
//! The calling thread works too. Handing everything to the pool and waiting, as a parallel iterator
//! does outside of it, costs the time in which sleeping threads wake before the first row is read. As
//! with a parallel iterator, the call returns when the pool has got round to its share, so it waits
//! while every thread of the pool is busy with something else.

use std::sync::{Condvar, Mutex, PoisonError};

/// Runs every task, in whatever order they end.
pub(super) fn each<Task: Send>(
    tasks: impl ExactSizeIterator<Item = Task> + Send,
    work: impl Fn(Task) + Sync,
) {
    let threads = rayon::current_num_threads().min(tasks.len());
    let queue = Mutex::new(tasks);
    on_threads(threads, || {
        loop {
            let taken = lock(&queue).next();
            let Some(task) = taken else { return };
            work(task);
        }
    });
}

/// The calling thread is one of them. A panic of one goes on to the caller when all have ended.
fn on_threads(threads: usize, worker: impl Fn() + Sync) {
    rayon::in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| worker());
        }
        worker();
    });
}

/// Runs every task and calls `finish` with what they return, in their order.
///
/// A thread whose task is done before an earlier one waits for it, so there are never more results
/// than threads. Tasks are taken in order, so the earlier one is running and nobody waits for ever;
/// if it panics, who waits for it returns, and the panic goes on to the caller.
pub(super) fn run<Task: Send, Output>(
    tasks: impl ExactSizeIterator<Item = Task> + Send,
    work: impl Fn(Task) -> Output + Sync,
    finish: impl FnMut(Output) + Send,
) {
    let threads = rayon::current_num_threads().min(tasks.len());
    let queue = Mutex::new(tasks.enumerate());
    let turns = Turns {
        state: Mutex::new(State {
            next: Some(0),
            finish,
        }),
        changed: Condvar::new(),
    };
    on_threads(threads, || {
        loop {
            let taken = lock(&queue).next();
            let Some((index, task)) = taken else { return };
            let end = turns.abandon_on_panic();
            let output = work(task);
            core::mem::forget(end);
            if !turns.take(index, output) {
                return;
            }
        }
    });
}

struct State<F> {
    /// Whose turn it is; `None` after a panic.
    next: Option<usize>,
    finish: F,
}

/// Lets results be finished in the order of their tasks.
struct Turns<F> {
    state: Mutex<State<F>>,
    changed: Condvar,
}

impl<F> Turns<F> {
    /// Waits for the turn of task `index` and finishes its result; false if it will never come.
    fn take<Output>(&self, index: usize, output: Output) -> bool
    where
        F: FnMut(Output),
    {
        let end = self.abandon_on_panic();
        let waiting = |state: &mut State<F>| state.next.is_some_and(|next| next != index);
        let state = self.changed.wait_while(lock(&self.state), waiting);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let mine = state.next.is_some();
        if mine {
            (state.finish)(output);
            state.next = Some(index + 1);
        }
        drop(state);
        core::mem::forget(end);
        self.changed.notify_all();
        mine
    }

    /// Ends all waiting when it is dropped.
    fn abandon_on_panic(&self) -> Abandon<'_, F> {
        Abandon(self)
    }
}

struct Abandon<'a, F>(&'a Turns<F>);

impl<F> Drop for Abandon<'_, F> {
    fn drop(&mut self) {
        lock(&self.0.state).next = None;
        self.0.changed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::ThreadPoolBuilder;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    #[test]
    fn results_come_in_the_order_of_the_tasks() {
        for threads in [2, 5] {
            let pool = ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let mut seen = Vec::new();
            pool.install(|| {
                let work = |task: u32| {
                    std::thread::sleep(Duration::from_micros(300 * u64::from(task % 3)));
                    task
                };
                run(0..100, work, |output| seen.push(output));
            });
            assert_eq!(seen, Vec::from_iter(0..100));
        }
    }

    /// Task 0 ends when task 2 has begun, which is another thread's second.
    #[test]
    fn a_thread_does_not_wait_for_results_that_have_no_order() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let (begun, changed) = (Mutex::new(false), Condvar::new());
        let work = |task: u32| match task {
            0 => {
                let patience = Duration::from_secs(60);
                let waited = changed.wait_timeout_while(lock(&begun), patience, |begun| !*begun);
                assert!(!waited.unwrap().1.timed_out());
            }
            2 => {
                *lock(&begun) = true;
                changed.notify_all();
            }
            _ => {}
        };
        pool.install(|| each(0..4, work));
    }

    #[test]
    fn a_panic_reaches_the_caller_and_nobody_waits_for_ever() {
        let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for culprit in [0, 1, 7_u32] {
            let work = |task: u32| {
                std::thread::sleep(Duration::from_millis(1));
                assert!(task != culprit, "task {task}");
            };
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                pool.install(|| run(0..20, work, |()| {}));
            }));
            assert!(outcome.is_err(), "culprit {culprit}");
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                pool.install(|| each(0..20, work));
            }));
            assert!(outcome.is_err(), "culprit {culprit}, without an order");
        }
    }
}
