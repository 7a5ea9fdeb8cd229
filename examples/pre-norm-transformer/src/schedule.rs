//! When things happen in a training: which steps make an epoch, which learning rate a step has.

use std::ops::Range;

use burn::lr_scheduler::LrSchedulerConfig;
use burn::lr_scheduler::cosine::CosineAnnealingLrSchedulerConfig;
use burn::lr_scheduler::linear::LinearLrSchedulerConfig;
use burn::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn::lr_scheduler::sequential::SequentialLrSchedulerConfig;

/// A training has about this many epochs; each ends with a validation and a checkpoint.
const EPOCHS: usize = 20;

/// The learning rate climbs during this share of the steps.
const WARM_UP: f64 = 0.05;

/// The learning rate ends at this share of its peak.
const FINAL_LEARNING_RATE: f64 = 0.05;

/// The size and order of a training.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// Optimizer steps in all.
    pub steps: usize,
    /// Optimizer steps between two validations; what Burn's trainer calls an epoch.
    pub epoch_steps: usize,
    /// Windows of a step.
    pub batch: usize,
    /// Bytes of a window.
    pub context: usize,
    /// Seed of the order of the data.
    pub seed: u64,
}

impl Schedule {
    /// Divides `steps` into epochs.
    pub fn new(steps: usize, batch: usize, context: usize, seed: u64) -> Self {
        Self {
            steps,
            epoch_steps: steps.div_ceil(EPOCHS),
            batch,
            context,
            seed,
        }
    }

    /// The number of epochs; the last one may be shorter.
    pub fn epochs(&self) -> usize {
        self.steps.div_ceil(self.epoch_steps)
    }

    /// The steps, counted from 0, of an epoch, counted from 1.
    pub fn steps_of(&self, epoch: usize) -> Range<usize> {
        (epoch - 1) * self.epoch_steps..self.steps_after(epoch)
    }

    /// The steps done when an epoch, counted from 1, has ended.
    pub fn steps_after(&self, epoch: usize) -> usize {
        self.steps.min(epoch.saturating_mul(self.epoch_steps))
    }

    /// Linear warm-up to `peak`, then half a cosine down.
    pub fn learning_rate(&self, peak: f64) -> ModuleLrScheduler {
        let warm_up = ((self.steps as f64 * WARM_UP) as usize).max(1);
        let decay = self.steps.saturating_sub(warm_up).max(1);
        let linear = LinearLrSchedulerConfig::new(peak / warm_up as f64, peak, warm_up);
        let cosine = CosineAnnealingLrSchedulerConfig::new(peak, decay)
            .with_min_lr(peak * FINAL_LEARNING_RATE);
        SequentialLrSchedulerConfig::new(
            vec![
                LrSchedulerConfig::from(linear),
                LrSchedulerConfig::from(cosine),
            ],
            vec![warm_up],
        )
        .init()
        .expect("a peak in (0, 1] makes a valid schedule")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_cover_every_step_once() {
        for steps in [1, 7, 20, 21, 997] {
            let schedule = Schedule::new(steps, 1, 1, 0);
            let all: Vec<usize> = (1..=schedule.epochs())
                .flat_map(|epoch| schedule.steps_of(epoch))
                .collect();
            assert_eq!(all, (0..steps).collect::<Vec<_>>(), "{steps} steps");
        }
    }

    #[test]
    fn the_learning_rate_climbs_to_its_peak_and_comes_down() {
        let mut scheduler = Schedule::new(200, 1, 1, 0).learning_rate(1e-2);
        let rates: Vec<f64> = (0..200).map(|_| scheduler.step().base()).collect();
        let peak = rates.iter().copied().fold(0.0, f64::max);
        assert!((peak - 1e-2).abs() < 1e-9);
        assert!(rates[0] < 2e-3 && rates[199] < 6e-4);
        assert!(rates[..10].is_sorted() && rates[10..].iter().rev().is_sorted());
    }

    #[test]
    fn one_step_has_a_learning_rate() {
        assert!(Schedule::new(1, 1, 1, 0).learning_rate(1.0).step().base() > 0.0);
    }
}
