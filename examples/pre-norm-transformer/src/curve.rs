//! `metrics.csv`: one row a training step and one row a validation.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use burn::train::Interrupter;
use burn::train::checkpoint::CheckpointerError;
use burn::train::logger::MetricLogger;
use burn::train::metric::store::{EpochSummary, MetricsUpdate, Split};
use burn::train::metric::{LearningRateMetric, Metric, MetricDefinition, MetricId, NumericEntry};
use serde::{Deserialize, Serialize};

use crate::metric::BitsPerByte;

/// A row of `metrics.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Steps done when the figure was taken.
    pub step: usize,
    /// `train` or `valid`.
    pub split: String,
    /// Bits per byte of the step's batch, or of the validation bytes.
    pub bits_per_byte: f64,
    /// Learning rate of the step; empty for a validation.
    pub learning_rate: Option<f64>,
}

/// Reads every row.
pub fn read(path: &Path) -> csv::Result<Vec<Point>> {
    csv::Reader::from_path(path)?.deserialize().collect()
}

/// Drops the rows after `step`, so that a resumed training continues the curve.
pub fn truncate(path: &Path, step: usize) -> csv::Result<()> {
    let temporary = path.with_extension("csv.tmp");
    let mut writer = csv::Writer::from_path(&temporary)?;
    for point in read(path)?.into_iter().filter(|point| point.step <= step) {
        writer.serialize(point)?;
    }
    writer.flush()?;
    Ok(fs::rename(temporary, path)?)
}

/// Writes the rows as Burn's trainer reports them.
pub struct CurveLogger {
    writer: csv::Writer<File>,
    step: usize,
    interrupter: Interrupter,
}

impl CurveLogger {
    /// Appends to the file at `path` after `step` steps; a failed write stops the training.
    pub fn append(path: &Path, step: usize, interrupter: Interrupter) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let empty = file.metadata()?.len() == 0;
        let writer = csv::WriterBuilder::new()
            .has_headers(empty)
            .from_writer(file);
        Ok(Self {
            writer,
            step,
            interrupter,
        })
    }

    /// The row that an update is worth, if any.
    fn point(&mut self, update: &MetricsUpdate, split: &Split) -> Option<Point> {
        let bits = value(update, &BitsPerByte::default())?;
        match (split, &bits) {
            // The mean over an epoch, which the rows of its steps tell already.
            (Split::Train, NumericEntry::Final(_)) => return None,
            (Split::Train, _) => self.step += 1,
            (_, NumericEntry::Final(_)) => {}
            // One batch of a validation.
            _ => return None,
        }
        Some(Point {
            step: self.step,
            split: split.to_string(),
            bits_per_byte: bits.current(),
            learning_rate: value(update, &LearningRateMetric::new()).map(|rate| rate.current()),
        })
    }
}

/// The value of a metric in an update.
fn value(update: &MetricsUpdate, metric: &impl Metric) -> Option<NumericEntry> {
    let id = MetricId::new(metric.name());
    let mut entries = update.entries_numeric.iter();
    entries
        .find(|entry| entry.entry.metric_id == id)?
        .numeric_entry
        .clone()
}

impl MetricLogger for CurveLogger {
    fn log(&mut self, update: MetricsUpdate, _epoch: usize, split: &Split) {
        if let Some(point) = self.point(&update, split)
            && let Err(error) = self.writer.serialize(point)
        {
            let error = CheckpointerError::Unknown(format!("metrics.csv: {error}"));
            self.interrupter.fail(error);
        }
    }

    fn read_numeric(
        &mut self,
        _name: &str,
        _epoch: usize,
        _split: &Split,
    ) -> Result<Vec<NumericEntry>, String> {
        // Nothing in this training chooses by past metrics.
        Ok(Vec::new())
    }

    fn log_metric_definition(&mut self, _definition: MetricDefinition) {}

    fn log_epoch_summary(&mut self, _summary: EpochSummary) {
        if let Err(error) = self.writer.flush() {
            self.interrupter.fail(CheckpointerError::IOError(error));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncation_keeps_the_rows_up_to_the_step() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.csv");
        let point = |step, split: &str, learning_rate| Point {
            step,
            split: split.into(),
            bits_per_byte: 0.1 + step as f64,
            learning_rate,
        };
        let points = [
            point(1, "train", Some(1e-3)),
            point(2, "train", Some(2e-3)),
            point(2, "valid", None),
            point(3, "train", Some(3e-3)),
        ];
        let mut writer = csv::Writer::from_path(&path).unwrap();
        for point in &points {
            writer.serialize(point).unwrap();
        }
        writer.flush().unwrap();
        truncate(&path, 2).unwrap();
        assert_eq!(read(&path).unwrap(), points[..3]);
    }
}
