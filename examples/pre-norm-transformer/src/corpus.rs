//! The text of a run: bytes of any kind, the first nine tenths to learn from, the rest to judge by.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::Error;
use crate::text;

/// A text, cut in two by position.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// All bytes: those to learn from, then those to judge by.
    pub text: Arc<[u8]>,
    train: usize,
}

impl Corpus {
    /// Reads the files one after another, or this repository's documentation when there are none.
    pub fn load(files: &[PathBuf]) -> Result<Self, Error> {
        if files.is_empty() {
            return Ok(Self::new(text::documentation()));
        }
        let mut all = Vec::new();
        for file in files {
            let bytes = fs::read(file).map_err(|error| {
                Error::option("text", file.display(), format!("cannot be read: {error}"))
            })?;
            if bytes.is_empty() {
                return Err(Error::option("text", file.display(), "is empty"));
            }
            all.extend(bytes);
        }
        Ok(Self::new(all))
    }

    fn new(text: Vec<u8>) -> Self {
        let train = text.len() - text.len() / 10;
        Self {
            text: text.into(),
            train,
        }
    }

    /// The fewest bytes of which each part can fill a window and the byte after it.
    pub fn shortest(context: usize) -> usize {
        context.saturating_add(1).saturating_mul(10)
    }

    /// The bytes to learn from.
    pub fn train(&self) -> &[u8] {
        &self.text[..self.train]
    }

    /// Where the bytes to judge by are.
    pub fn valid(&self) -> Range<usize> {
        self.train..self.text.len()
    }

    /// Tells one text from another.
    pub fn checksum(&self) -> u32 {
        crc32fast::hash(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_at_the_end_is_for_judging() {
        let corpus = Corpus::new((0..100).collect());
        assert_eq!(corpus.train(), (0..90).collect::<Vec<u8>>());
        assert_eq!(corpus.valid(), 90..100);
    }

    #[test]
    fn in_the_shortest_text_both_parts_fill_a_window() {
        let corpus = Corpus::new(vec![0; Corpus::shortest(16)]);
        assert!(corpus.train().len() > 16 && corpus.valid().len() > 16);
    }
}
