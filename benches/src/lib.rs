//! How two implementations are timed against each other.
//!
//! They run by turns, A B A B, in one process, so that whatever else the machine does falls on both.
//! A turn is a few calls, of which the first does not count: it finds the caches and the allocator as
//! the other contender has left them, which no training loop does. What is compared is the median
//! call, and the spread of the ratio between neighbouring turns says how far to trust it. The
//! harnesses of the ecosystem time one function after the other, which on a shared machine compares
//! two moments.

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Turns of each contender at least, and until this much time has gone by.
const TURNS: usize = 7;
const TIME: Duration = Duration::from_millis(1500);

/// Calls of a turn that count.
const CALLS: usize = 4;

/// Median times of the calls of two contenders, turn by turn.
pub struct Duel {
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

/// Runs both until there are enough turns.
pub fn duel<A, B>(mut ours: impl FnMut() -> A, mut theirs: impl FnMut() -> B) -> Duel {
    let mut duel = Duel {
        ours: Vec::new(),
        theirs: Vec::new(),
    };
    let start = Instant::now();
    while duel.ours.len() < TURNS || start.elapsed() < TIME {
        duel.ours.push(turn(&mut ours));
        duel.theirs.push(turn(&mut theirs));
    }
    duel
}

/// The median time of the calls of a turn.
fn turn<T>(call: &mut impl FnMut() -> T) -> f64 {
    drop(black_box(call()));
    let times: Vec<f64> = (0..CALLS).map(|_| seconds(call)).collect();
    quantile(&times, 0.5)
}

/// The time of one call, including that of freeing what it returns.
fn seconds<T>(call: &mut impl FnMut() -> T) -> f64 {
    let start = Instant::now();
    drop(black_box(call()));
    start.elapsed().as_secs_f64()
}

/// The value below which the share `at` of the values lies.
fn quantile(values: &[f64], at: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * at).round() as usize]
}

impl Duel {
    /// How many times longer theirs takes: the ratio of the medians.
    pub fn ratio(&self) -> f64 {
        quantile(&self.theirs, 0.5) / quantile(&self.ours, 0.5)
    }
}

/// Median times, their ratio, and the quartiles of the ratio turn by turn.
impl fmt::Display for Duel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ratios: Vec<f64> = self
            .theirs
            .iter()
            .zip(&self.ours)
            .map(|(b, a)| b / a)
            .collect();
        write!(
            f,
            "{:>10.1} {:>10.1} {:>8.2} × {:>6.2} – {:.2}",
            1e6 * quantile(&self.ours, 0.5),
            1e6 * quantile(&self.theirs, 0.5),
            self.ratio(),
            quantile(&ratios, 0.25),
            quantile(&ratios, 0.75),
        )
    }
}
