//! What is printed of a contest, and what is kept of it in a file.

use std::fs::{File, create_dir_all};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::contest::Score;

/// Name of the contender whose bytes and allocation are those of a forward pass, and which computes
/// nothing.
pub const COPY: &str = "copy";

/// Name of the contender that has the same elements in f32, beside other types.
pub const OURS_F32: &str = "ours, f32";

/// One contender of one contest: a line of a results file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Burn's device.
    pub device: String,
    /// Type of the elements.
    pub kind: String,
    /// What was done: `forward`, `training`, …
    pub pass: String,
    /// Rows of x.
    pub rows: usize,
    /// Elements of a row.
    pub row_len: usize,
    /// Who did it.
    pub contender: String,
    /// Median of a call, in microseconds.
    pub micros: f64,
    /// Bytes that the work moves at least, over its time.
    pub gb_per_s: f64,
    /// Time that a copy of these bytes took in the same contest, over the work's.
    pub of_copy: Option<f64>,
    /// The contender's time over ours: lower quartile of the turns.
    pub low: f64,
    /// The median.
    pub ratio: f64,
    /// The upper quartile.
    pub high: f64,
}

/// What the contenders worked on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work<'a> {
    /// Burn's device.
    pub device: &'a str,
    /// Type of the elements.
    pub kind: &'a str,
    /// What is done.
    pub pass: &'a str,
    /// Rows and their length.
    pub shape: [usize; 2],
    /// Bytes of an element.
    pub size: usize,
    /// Tensors of x's size that are read or written. A copy moves two.
    pub activations: f64,
}

impl Work<'_> {
    /// The words by which a line can be picked.
    pub fn label(&self) -> String {
        format!(
            "{:<8} {:<5} {:<9} {:<15}",
            self.device,
            self.kind,
            self.pass,
            format!("{:?}", self.shape)
        )
    }

    fn records(&self, scores: &[Score]) -> Vec<Record> {
        let elements = self.shape.iter().product::<usize>() as f64;
        let copy = scores.iter().find(|score| score.name == COPY);
        let record = |score: &Score| {
            let activations = match score.name {
                COPY => 2.0,
                _ => self.activations,
            };
            let size = match score.name {
                OURS_F32 => size_of::<f32>(),
                _ => self.size,
            };
            let bytes = activations * elements * size as f64;
            let copied = 2.0 * elements * self.size as f64;
            Record {
                device: self.device.into(),
                kind: self.kind.into(),
                pass: self.pass.into(),
                rows: self.shape[0],
                row_len: self.shape[1],
                contender: score.name.into(),
                micros: 1e6 * score.seconds,
                gb_per_s: bytes / score.seconds / 1e9,
                of_copy: copy.map(|copy| copy.seconds * bytes / copied / score.seconds),
                low: score.ratio[0],
                ratio: score.ratio[1],
                high: score.ratio[2],
            }
        };
        scores.iter().map(record).collect()
    }
}

/// Where the results of a benchmark go: the terminal, and `benches/results`.
pub struct Results {
    words: Vec<String>,
    file: PathBuf,
    records: Vec<Record>,
}

impl Results {
    /// The results of benchmark `name`. The command line's words pick the lines that contain them all.
    pub fn new(name: &str) -> Self {
        let words = std::env::args().skip(1).filter(|word| word != "--bench");
        println!(
            "device   type  pass      shape           contender              µs     GB/s  of copy   \
             to ours (quartiles)"
        );
        Self {
            words: words.collect(),
            file: folder().join(format!("{name}.csv")),
            records: Vec::new(),
        }
    }

    /// Runs a contest if its line is asked for.
    pub fn run(&mut self, work: Work<'_>, contest: impl FnOnce() -> Vec<Score>) {
        let label = work.label();
        if !self.words.iter().all(|word| label.contains(word)) {
            return;
        }
        for record in work.records(&contest()) {
            let of_copy = record
                .of_copy
                .map(|share| format!("{:.0} %", 100.0 * share));
            println!(
                "{label} {:<17} {:>9.1} {:>8.1} {:>8} {:>7.2} × {:>6.2} – {:.2}",
                record.contender,
                record.micros,
                record.gb_per_s,
                of_copy.unwrap_or_default(),
                record.ratio,
                record.low,
                record.high,
            );
            self.records.push(record);
        }
    }

    /// Writes the file, unless only some of the lines were asked for.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn finish(self) -> Result<(), csv::Error> {
        if !self.words.is_empty() {
            return Ok(());
        }
        create_dir_all(folder())?;
        let mut writer = csv::Writer::from_writer(File::create(&self.file)?);
        for record in &self.records {
            writer.serialize(record)?;
        }
        writer.flush()?;
        Ok(())
    }
}

/// The folder of the results files.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("results")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 GB of x in two bytes an element: a copy moves 2 GB, and as many elements in f32 are 4 GB.
    #[test]
    fn bytes_are_those_of_the_contenders_type() {
        let work = Work {
            device: "flex",
            kind: "f16",
            pass: "forward",
            shape: [500_000, 1000],
            size: 2,
            activations: 2.0,
        };
        let score = |name, seconds| Score {
            name,
            seconds,
            ratio: [1.0; 3],
        };
        let records = work.records(&[score("ours", 2.0), score(OURS_F32, 4.0), score(COPY, 1.0)]);
        let found = records
            .iter()
            .map(|record| (record.gb_per_s, record.of_copy));
        let expected = [(1.0, Some(0.5)), (1.0, Some(0.5)), (2.0, Some(1.0))];
        assert!(found.eq(expected), "{records:?}");
    }
}
