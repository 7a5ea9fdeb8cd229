//! What Burn's trainer wants to know of an iterator over batches.

use burn::data::dataloader::{DataLoaderIterator, Progress};
use burn::data::dataset::DatasetError;

use crate::data::Batch;

/// An iterator that knows how far it is.
pub struct Counted<I> {
    items: I,
    done: usize,
    total: usize,
    unit: &'static str,
}

impl<I> Counted<I> {
    /// `items` are `total` in number, each a `unit`.
    pub fn new(total: usize, unit: &'static str, items: I) -> Self {
        Self {
            items,
            done: 0,
            total,
            unit,
        }
    }
}

impl<I: Iterator<Item = Batch>> Iterator for Counted<I> {
    type Item = Result<Batch, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.items.next()?;
        self.done += 1;
        Some(Ok(batch))
    }
}

impl<I: Iterator<Item = Batch>> DataLoaderIterator<Batch> for Counted<I> {
    fn progress(&self) -> Progress {
        Progress::new(self.done, self.total, Some(self.unit.to_string()))
    }
}
