//! The tables and plots of the documentation, from the results files of the benchmarks.
//!
//! Writes `docs/benchmarks.md` and `docs/img/*.svg`; `benches/run.sh` calls it last.

mod plot;
mod tables;

use std::error::Error;
use std::fs::{create_dir_all, write};
use std::path::Path;
use std::process::ExitCode;

use fused_norm_benches::record::{Record, folder};
use serde::de::DeserializeOwned;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    create_dir_all(docs.join("img"))?;
    let forward: Vec<Record> = read("forward.csv")?;
    let training: Vec<Record> = read("training.csv")?;
    for (records, pass) in [(&forward, "forward"), (&training, "training")] {
        for figure in plot::figures(records, pass) {
            figure.draw(&docs.join("img").join(format!("{}.svg", figure.name)))?;
        }
    }
    let page = tables::page(&tables::Results {
        forward,
        training,
        train_step: read("train_step.csv")?,
        variants: read("variants.csv")?,
        routines: optional("routines.csv")?,
        torch: optional("torch.csv")?,
    });
    write(docs.join("benchmarks.md"), page)?;
    Ok(())
}

fn read<T: DeserializeOwned>(name: &str) -> Result<Vec<T>, Box<dyn Error>> {
    let path = folder().join(name);
    let mut reader =
        csv::Reader::from_path(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(reader.deserialize().collect::<Result<_, _>>()?)
}

/// The results of a benchmark that not everybody can run.
fn optional<T: DeserializeOwned>(name: &str) -> Result<Vec<T>, Box<dyn Error>> {
    match folder().join(name).exists() {
        true => read(name),
        false => Ok(Vec::new()),
    }
}
