//! Windows of text, and the loaders that hand them to Burn's trainer.
//!
//! The windows of a training step are a function of (seed, step) alone, so that a resumed training
//! reads what an undisturbed one would have read.

mod valid;

pub use valid::ValidLoader;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use burn::data::dataloader::{DataLoader, DataLoaderIterator};
use burn::tensor::{Device, Int, Tensor, TensorData};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::counted::Counted;
use crate::schedule::Schedule;

/// Windows of equal length and the byte that follows each position.
#[derive(Clone, Debug)]
pub struct Batch {
    /// `[windows, context]`.
    pub inputs: Tensor<2, Int>,
    /// `[windows, context]`: the inputs, one byte later.
    pub targets: Tensor<2, Int>,
    /// The first position that counts; what comes before it is only context.
    pub scored_from: usize,
    /// Seed of what the step draws at random (dropout).
    pub seed: u64,
}

impl Batch {
    /// Reads one window of `context` bytes from each start.
    fn read(text: &[u8], starts: &[usize], context: usize, device: &Device) -> Self {
        let read = |shift: usize| {
            let bytes: Vec<i32> = starts
                .iter()
                .flat_map(|start| &text[start + shift..][..context])
                .map(|byte| i32::from(*byte))
                .collect();
            Tensor::from_data(TensorData::new(bytes, [starts.len(), context]), device)
        };
        Self {
            inputs: read(0),
            targets: read(1),
            scored_from: 0,
            seed: 0,
        }
    }

    /// The number of bytes that count.
    pub fn scored(&self) -> usize {
        let [windows, context] = self.inputs.dims();
        windows * (context - self.scored_from)
    }
}

/// The batches of the training split: `iter` gives the steps of one epoch, then of the next.
pub struct TrainLoader {
    text: Arc<[u8]>,
    schedule: Schedule,
    /// Which steps of every epoch this loader gives.
    share: Range<usize>,
    device: Device,
    next_epoch: AtomicUsize,
}

impl TrainLoader {
    /// Starts at `epoch`, counted from 1.
    pub fn new(text: Arc<[u8]>, schedule: Schedule, epoch: usize, device: &Device) -> Self {
        Self {
            text,
            schedule,
            share: 0..schedule.epoch_steps,
            device: device.clone(),
            next_epoch: AtomicUsize::new(epoch),
        }
    }

    /// The same batches from the epoch that comes next.
    fn with(&self, share: Range<usize>, device: &Device) -> Self {
        let epoch = self.next_epoch.load(Ordering::Relaxed);
        Self {
            share,
            ..Self::new(self.text.clone(), self.schedule, epoch, device)
        }
    }

    /// The batch of `step`, counted from 0.
    fn batch(&self, step: usize) -> Batch {
        let Schedule { context, seed, .. } = self.schedule;
        let mixed = seed ^ (step as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut random = StdRng::seed_from_u64(mixed);
        let starts: Vec<usize> = (0..self.schedule.batch)
            .map(|_| random.random_range(0..self.text.len() - context))
            .collect();
        Batch {
            seed: random.random(),
            ..Batch::read(&self.text, &starts, context, &self.device)
        }
    }
}

impl DataLoader<Batch> for TrainLoader {
    fn iter<'a>(&'a self) -> Box<dyn DataLoaderIterator<Batch> + 'a> {
        let steps = self
            .schedule
            .steps_of(self.next_epoch.fetch_add(1, Ordering::Relaxed));
        let share = self.share.start.min(steps.len())..self.share.end.min(steps.len());
        let steps = steps.start + share.start..steps.start + share.end;
        Box::new(Counted::new(
            steps.len(),
            "steps",
            steps.map(|step| self.batch(step)),
        ))
    }

    fn num_items(&self) -> usize {
        self.share.len()
    }

    fn to_device(&self, device: &Device) -> Arc<dyn DataLoader<Batch>> {
        Arc::new(self.with(self.share.clone(), device))
    }

    fn slice(&self, start: usize, end: usize) -> Arc<dyn DataLoader<Batch>> {
        let at = |item: usize| self.share.end.min(self.share.start + item);
        Arc::new(self.with(at(start)..at(end), &self.device))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn text(length: usize) -> Arc<[u8]> {
        (0..length).map(|i| (i % 251) as u8).collect()
    }

    pub(super) fn bytes(tensor: &Tensor<2, Int>) -> Vec<i64> {
        tensor.to_data().iter::<i64>().collect()
    }

    #[test]
    fn a_training_batch_is_a_function_of_seed_and_step() {
        let device = Device::default();
        let loader = |seed, epoch| {
            TrainLoader::new(text(500), Schedule::new(60, 2, 8, seed), epoch, &device)
        };
        let read = |loader: &TrainLoader| -> Vec<(Vec<i64>, u64)> {
            let batches = loader.iter().map(|batch| batch.expect("a batch"));
            batches
                .map(|batch| (bytes(&batch.inputs), batch.seed))
                .collect()
        };
        let from_start = loader(1, 1);
        let epochs = [read(&from_start), read(&from_start)];
        assert_eq!(epochs[1], read(&loader(1, 2)));
        assert_ne!(epochs[0], epochs[1]);
        assert_ne!(epochs[0], read(&loader(2, 1)));
    }

    #[test]
    fn slices_are_parts_of_the_whole() {
        let device = Device::default();
        let schedule = Schedule::new(60, 2, 8, 1);
        let train = || TrainLoader::new(text(500), schedule, 1, &device);
        let valid = ValidLoader::new(text(500), 100..500, schedule, &device);
        let read = |loader: &dyn DataLoader<Batch>| -> Vec<Vec<i64>> {
            let batches = loader.iter().map(|batch| batch.expect("a batch"));
            batches.map(|batch| bytes(&batch.inputs)).collect()
        };
        for (whole, parts) in [
            (
                read(&train()),
                [train().slice(0, 2), train().slice(2, 1000)],
            ),
            (read(&valid), [valid.slice(0, 5), valid.slice(5, 1000)]),
        ] {
            let [first, second] = parts.map(|part| {
                let batches = read(&*part);
                assert_eq!(batches.len(), part.num_items());
                batches
            });
            assert_eq!([first, second].concat(), whole);
        }
    }

    #[test]
    fn a_target_is_the_next_byte() {
        let device = Device::default();
        let loader = TrainLoader::new(text(100), Schedule::new(1, 4, 16, 0), 1, &device);
        let batch = loader.batch(0);
        for (input, target) in bytes(&batch.inputs).iter().zip(bytes(&batch.targets)) {
            assert_eq!((input + 1) % 251, target);
        }
    }
}
