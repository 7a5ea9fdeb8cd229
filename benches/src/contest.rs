//! How implementations are timed against each other.
//!
//! They run by turns, A B C A B C, in one process, so that whatever else the machine does falls on
//! all of them. A turn is a few calls, of which the first does not count: it finds the caches and the
//! allocator as the other contenders have left them, which no training loop does. What is compared is
//! the median call, and the spread of the ratio between neighbouring turns says how far to trust it.
//! The harnesses of the ecosystem time one function after the other, which on a shared machine
//! compares two moments.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Turns of each contender, at least.
const TURNS: usize = 5;
/// Time of a contest, at least.
const TIME: Duration = Duration::from_millis(1200);
/// Calls of a turn that count, of calls that take less than [`LONG`].
const CALLS: usize = 4;
/// A call of this length is a turn, and needs no other call before it.
const LONG: f64 = 0.1;

/// Somebody who does the work.
pub struct Contender<'a> {
    name: &'static str,
    call: Box<dyn FnMut() + 'a>,
}

impl<'a> Contender<'a> {
    /// What `call` returns is dropped within its time: memory is part of the price.
    pub fn new<T>(name: &'static str, mut call: impl FnMut() -> T + 'a) -> Self {
        Self {
            name,
            call: Box::new(move || drop(black_box(call()))),
        }
    }

    /// The median time of the calls of a turn, in seconds.
    fn turn(&mut self) -> f64 {
        let first = self.seconds();
        if first > LONG {
            return first;
        }
        let times: Vec<f64> = (0..CALLS).map(|_| self.seconds()).collect();
        quantile(&times, 0.5)
    }

    fn seconds(&mut self) -> f64 {
        let start = Instant::now();
        (self.call)();
        start.elapsed().as_secs_f64()
    }
}

/// What a contender took.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// The contender.
    pub name: &'static str,
    /// Median of a call, in seconds.
    pub seconds: f64,
    /// Its time over the first contender's, turn by turn: lower quartile, median, upper quartile.
    pub ratio: [f64; 3],
}

/// Runs all by turns until there are enough of them. The scores come in the order of the contenders;
/// the first is whom the others are compared with.
///
/// # Panics
///
/// If there are no contenders.
pub fn contest(mut contenders: Vec<Contender<'_>>) -> Vec<Score> {
    for contender in &mut contenders {
        // Compiles kernels, finds pages; and decides nothing.
        (contender.call)();
    }
    let mut turns = vec![vec![]; contenders.len()];
    let start = Instant::now();
    while turns[0].len() < TURNS || start.elapsed() < TIME {
        for (contender, turns) in contenders.iter_mut().zip(&mut turns) {
            turns.push(contender.turn());
        }
    }
    contenders
        .iter()
        .zip(&turns)
        .map(|(contender, times)| {
            let ratios: Vec<f64> = times.iter().zip(&turns[0]).map(|(a, b)| a / b).collect();
            Score {
                name: contender.name,
                seconds: quantile(times, 0.5),
                ratio: [0.25, 0.5, 0.75].map(|at| quantile(&ratios, at)),
            }
        })
        .collect()
}

/// The value below which the share `at` of the values lies.
fn quantile(values: &[f64], at: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * at).round() as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slower_one_has_the_larger_ratio() {
        let sleep = |micros| move || std::thread::sleep(Duration::from_micros(micros));
        let scores = contest(vec![
            Contender::new("short", sleep(300)),
            Contender::new("long", sleep(3000)),
        ]);
        assert_eq!(scores[0].ratio, [1.0; 3]);
        assert!(scores[1].ratio[0] > 2.0, "{scores:?}");
        assert!(
            scores[0].seconds >= 300e-6 && scores[1].seconds >= 3e-3,
            "{scores:?}"
        );
    }
}
