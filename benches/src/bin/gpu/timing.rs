//! How is a call timed?
//!
//! Calls are queued in batches that take a few milliseconds, and a batch ends when the device has
//! done it: what a short call costs is its launch, not the wait for it. Results are kept until then,
//! because a lazy backend does not compute what nobody can read. Batches run until there are enough
//! of them, and the median is told.

use std::time::Instant;

/// Batches at least.
const BATCHES: usize = 5;
/// Time of a batch, at least.
const BATCH_SECONDS: f64 = 2e-3;
/// Calls before any is timed: they compile the kernels and tune Burn's own.
const WARM_UP: usize = 3;
/// Calls of a batch, at most.
const MOST_CALLS: usize = 1000;

/// A call that can be timed.
pub struct Timed<'a, T> {
    /// Queues the call of this number.
    pub call: &'a mut dyn FnMut(usize) -> T,
    /// Waits for all that is queued.
    pub finish: &'a dyn Fn() -> Result<(), String>,
    /// Calls whose results fit into memory together.
    pub fitting: usize,
}

/// What a call takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    /// Seconds of a call: the median of the batches.
    pub median: f64,
    /// Distance of the quartiles, as a part of the median.
    pub spread: f64,
}

impl<T> Timed<'_, T> {
    /// Measures for `seconds`, and for a few batches at least.
    ///
    /// # Errors
    ///
    /// If the device fails.
    pub fn measure(&mut self, seconds: f64) -> Result<Time, String> {
        for _ in 0..WARM_UP {
            self.batch(1)?;
        }
        let most = self.fitting.clamp(1, MOST_CALLS);
        let mut calls = 1;
        // The first batch of a size also allocates.
        let mut a_call = self.batch(calls)?;
        loop {
            let wanted = ((1.1 * BATCH_SECONDS / a_call).ceil() as usize).clamp(1, most);
            if wanted <= calls {
                break;
            }
            calls = wanted;
            self.batch(calls)?;
            a_call = self.batch(calls)?;
        }
        let mut times = Vec::new();
        let start = Instant::now();
        while times.len() < BATCHES || start.elapsed().as_secs_f64() < seconds {
            times.push(self.batch(calls)?);
        }
        times.sort_by(f64::total_cmp);
        let quantile = |at: f64| times[((times.len() - 1) as f64 * at).round() as usize];
        Ok(Time {
            median: quantile(0.5),
            spread: (quantile(0.75) - quantile(0.25)) / quantile(0.5),
        })
    }

    /// Seconds of a call among so many.
    fn batch(&mut self, calls: usize) -> Result<f64, String> {
        (self.finish)()?;
        let mut kept = Vec::with_capacity(calls);
        let start = Instant::now();
        for number in 0..calls {
            kept.push((self.call)(number));
        }
        (self.finish)()?;
        Ok(start.elapsed().as_secs_f64() / calls as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;
    use std::time::Duration;

    #[test]
    fn a_batch_is_as_long_as_it_has_to_be_and_as_memory_allows() {
        let mut most = 0;
        let mut call = |number: usize| {
            most = most.max(number + 1);
            sleep(Duration::from_micros(200));
        };
        let mut timed = Timed {
            call: &mut call,
            finish: &|| Ok(()),
            fitting: 4,
        };
        let time = timed.measure(0.0).unwrap();
        assert!(time.median >= 200e-6, "{time:?}");
        assert_eq!(most, 4);
    }
}
