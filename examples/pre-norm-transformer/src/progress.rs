//! How far a training is and how fast: a clock of the steps, and lines for when there is no terminal.

use std::io::{Write, stdout};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use burn::train::logger::{EvaluationProgressLogger, TrainingProgressLogger};
use burn::train::metric::{LearningRateMetric, Metric, MetricDefinition, MetricId};
use burn::train::renderer::{
    EvaluationName, MetricState, MetricsRenderer, MetricsRendererEvaluation,
    MetricsRendererTraining,
};

use crate::metric::BitsPerByte;
use crate::schedule::Schedule;

/// Measures the training steps of this process, without validations and checkpoints.
#[derive(Clone, Default)]
pub struct StepClock(Arc<Mutex<Clock>>);

#[derive(Default)]
struct Clock {
    started: Option<Instant>,
    steps_of_epoch: usize,
    time: Duration,
    steps: usize,
}

impl StepClock {
    /// Mean milliseconds of a step; 0 before the first epoch has ended.
    pub fn milliseconds(&self) -> f64 {
        self.with(|clock| clock.time.as_secs_f64() * 1e3 / clock.steps.max(1) as f64)
    }

    fn with<T>(&self, act: impl FnOnce(&mut Clock) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl TrainingProgressLogger for StepClock {
    fn start(
        &mut self,
        _epochs: usize,
        _first: usize,
        _items: Option<usize>,
        _label: Option<&str>,
    ) {
    }

    fn update_epoch(&mut self, _epoch: usize) {}

    fn start_split(&mut self, split: &str, _total_items: usize) {
        self.with(|clock| clock.started = (split == "train").then(Instant::now));
    }

    fn update_split(&mut self, items_processed: usize) {
        self.with(|clock| clock.steps_of_epoch = items_processed);
    }

    fn end_split(&mut self) {
        self.with(|clock| {
            if let Some(started) = clock.started.take() {
                clock.time += started.elapsed();
                clock.steps += clock.steps_of_epoch;
            }
        });
    }

    fn end(&mut self) {}

    fn log_event_training(&mut self, _event: String) {}
}

/// Prints a line an epoch.
pub struct PlainRenderer {
    schedule: Schedule,
    clock: StepClock,
    bits_per_byte: MetricId,
    learning_rate: MetricId,
    train: f64,
    valid: f64,
    rate: f64,
}

impl PlainRenderer {
    /// Prints steps as `schedule` counts them and times as `clock` measures them.
    pub fn new(schedule: Schedule, clock: StepClock) -> Self {
        Self {
            schedule,
            clock,
            bits_per_byte: MetricId::new(BitsPerByte::default().name()),
            learning_rate: MetricId::new(LearningRateMetric::new().name()),
            train: f64::NAN,
            valid: f64::NAN,
            rate: f64::NAN,
        }
    }
}

impl MetricsRendererTraining for PlainRenderer {
    fn update_train(&mut self, state: MetricState) {
        if let MetricState::Numeric(entry, Some(value)) = state {
            if entry.metric_id == self.bits_per_byte {
                self.train = value.current();
            } else if entry.metric_id == self.learning_rate {
                self.rate = value.current();
            }
        }
    }

    fn update_valid(&mut self, state: MetricState) {
        if let MetricState::Numeric(entry, Some(value)) = state
            && entry.metric_id == self.bits_per_byte
        {
            self.valid = value.current();
        }
    }
}

impl TrainingProgressLogger for PlainRenderer {
    fn start(
        &mut self,
        _epochs: usize,
        _first: usize,
        _items: Option<usize>,
        _label: Option<&str>,
    ) {
    }

    fn update_epoch(&mut self, epoch: usize) {
        let (step, steps) = (self.schedule.steps_after(epoch), self.schedule.steps);
        let milliseconds = self.clock.milliseconds();
        let left = (steps - step) as f64 * milliseconds / 1e3;
        // A reader that went away is no reason to stop training.
        let _ = writeln!(
            stdout(),
            "step {step:>width$}/{steps}  train {:.3}  valid {:.3} bits per byte  \
             lr {:.1e}  {milliseconds:.0} ms per step  {left:.0} s left",
            self.train,
            self.valid,
            self.rate,
            width = steps.to_string().len(),
        );
    }

    fn start_split(&mut self, _split: &str, _total_items: usize) {}

    fn update_split(&mut self, _items_processed: usize) {}

    fn end_split(&mut self) {}

    fn end(&mut self) {}

    fn log_event_training(&mut self, _event: String) {}
}

impl MetricsRenderer for PlainRenderer {
    fn manual_close(&mut self) {}

    fn register_metric(&mut self, _definition: MetricDefinition) {}
}

// Burn asks every renderer for the two traits of its evaluator, which this program does not use.

impl MetricsRendererEvaluation for PlainRenderer {
    fn update_test(&mut self, _name: EvaluationName, _state: MetricState) {}
}

impl EvaluationProgressLogger for PlainRenderer {
    fn start_global_progress(&mut self, _total_tests: usize) {}

    fn start_test(&mut self, _name: &str, _total_items: usize) {}

    fn update_test_progress(&mut self, _items_processed: usize) {}

    fn end_test(&mut self) {}

    fn end_global_progress(&mut self) {}

    fn log_event_evaluation(&mut self, _event: String) {}
}
