//! The batches of the validation split, in the order of the text.

use std::ops::Range;
use std::sync::Arc;

use burn::data::dataloader::{DataLoader, DataLoaderIterator};
use burn::tensor::Device;

use super::Batch;
use crate::counted::Counted;
use crate::schedule::Schedule;

/// Batches that score bytes of the validation split once each, with a context before every one.
#[derive(Clone)]
pub struct ValidLoader {
    text: Arc<[u8]>,
    /// The bytes that each window scores: its last ones.
    scored: Vec<Range<usize>>,
    schedule: Schedule,
    device: Device,
}

impl ValidLoader {
    /// Scores every byte of `split`, a range of `text` that starts after `context` bytes or more.
    pub fn new(text: Arc<[u8]>, split: Range<usize>, schedule: Schedule, device: &Device) -> Self {
        // Half a window is context for the other half.
        let stride = schedule.context.div_ceil(2);
        let scored = split
            .clone()
            .step_by(stride)
            .map(|start| start..split.end.min(start + stride))
            .collect();
        Self {
            text,
            scored,
            schedule,
            device: device.clone(),
        }
    }

    /// Keeps about `bytes` bytes, evenly spread over the split.
    pub fn sample(mut self, bytes: usize) -> Self {
        let total: usize = self.scored.iter().map(Range::len).sum();
        self.scored = self
            .scored
            .into_iter()
            .step_by(total.div_ceil(bytes))
            .collect();
        self
    }

    /// The batches, in the order of the text.
    pub fn batches(&self) -> impl Iterator<Item = Batch> {
        self.groups().map(|scored| self.batch(scored))
    }

    /// Windows that score equally many bytes go together.
    fn groups(&self) -> impl Iterator<Item = &[Range<usize>]> {
        self.scored
            .chunk_by(|a, b| a.len() == b.len())
            .flat_map(|group| group.chunks(self.schedule.batch))
    }

    fn batch(&self, scored: &[Range<usize>]) -> Batch {
        let context = self.schedule.context;
        let starts: Vec<usize> = scored.iter().map(|bytes| bytes.end - 1 - context).collect();
        Batch {
            scored_from: context - scored[0].len(),
            ..Batch::read(&self.text, &starts, context, &self.device)
        }
    }
}

impl DataLoader<Batch> for ValidLoader {
    fn iter<'a>(&'a self) -> Box<dyn DataLoaderIterator<Batch> + 'a> {
        Box::new(Counted::new(self.num_items(), "batches", self.batches()))
    }

    fn num_items(&self) -> usize {
        self.groups().count()
    }

    fn to_device(&self, device: &Device) -> Arc<dyn DataLoader<Batch>> {
        Arc::new(Self {
            device: device.clone(),
            ..self.clone()
        })
    }

    fn slice(&self, start: usize, end: usize) -> Arc<dyn DataLoader<Batch>> {
        let groups = self.groups().skip(start).take(end.saturating_sub(start));
        Arc::new(Self {
            scored: groups.flatten().cloned().collect(),
            ..self.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{bytes, text};
    use super::*;

    #[test]
    fn validation_scores_every_byte_once_and_in_order() {
        let device = Device::default();
        for context in [1, 2, 7, 16] {
            let schedule = Schedule::new(1, 3, context, 0);
            let loader = ValidLoader::new(text(251), 150..251, schedule, &device);
            let mut scored = Vec::new();
            for batch in loader.batches() {
                let [windows, _] = batch.targets.dims();
                let width = context - batch.scored_from;
                let targets = batch.targets.narrow(1, batch.scored_from, width);
                scored.extend(bytes(&targets));
                assert!(windows <= 3);
            }
            assert_eq!(
                scored,
                (150..251).collect::<Vec<i64>>(),
                "context {context}"
            );
        }
    }

    #[test]
    fn a_sample_is_no_longer_than_asked() {
        let device = Device::default();
        let schedule = Schedule::new(1, 3, 16, 0);
        let loader = ValidLoader::new(text(1000), 100..1000, schedule, &device).sample(200);
        let scored: usize = loader.batches().map(|batch| batch.scored()).sum();
        assert!((100..=208).contains(&scored), "{scored}");
    }
}
