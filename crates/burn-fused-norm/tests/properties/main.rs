//! Random cases: shapes, views, types, variants, epsilons and magnitudes that nobody chose.
//!
//! - `NORM_PROPERTY_CASES` cases (1000 unless it is set) run on every device of `NORM_DEVICES`, or on
//!   all. Their numbers go up from `NORM_PROPERTY_FIRST`, or 0, and a number is a case.
//! - On CubeCL devices, where a kernel is compiled for every structure, a pool of structures is drawn
//!   first, and `NORM_PROPERTY_POOL` is the number of the pool. Everything else varies freely.
//! - A case that fails is shrunk, and `NORM_PROPERTY_CASE=number` runs it again.
#![allow(dead_code)] // The suite's files offer more than is used here.

#[path = "../common/mod.rs"]
mod common;
mod describe;
mod draw;
mod everywhere;
mod genes;
#[path = "../conformance/inputs.rs"]
mod inputs;
#[path = "../conformance/operation.rs"]
mod operation;
mod run;
#[path = "../conformance/skips.rs"]
mod skips;
#[path = "../conformance/subject.rs"]
mod subject;
mod teeth;
#[path = "../conformance/tensors.rs"]
mod tensors;
#[path = "../conformance/through_autodiff.rs"]
mod through_autodiff;
#[path = "../conformance/through_contract.rs"]
mod through_contract;
mod values;

use common::devices;
use std::io::Write;
use std::num::NonZero;
use std::ops::Range;
use std::thread::{self, available_parallelism};
use std::time::{Duration, Instant};

use burn::tensor::Device;
use everywhere::Everywhere;

/// Structures drawn for a device that compiles kernels for each.
const POOL: u64 = 24;

/// A case that takes longer has had kernels compiled.
const WARM: Duration = Duration::from_millis(200);

fn setting(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    let number = value.parse();
    Some(number.unwrap_or_else(|_| panic!("{name} is {value:?}, expected a number")))
}

fn numbers() -> Range<u64> {
    if let Some(number) = setting("NORM_PROPERTY_CASE") {
        return number..number + 1;
    }
    let first = setting("NORM_PROPERTY_FIRST").unwrap_or(0);
    first..first + setting("NORM_PROPERTY_CASES").unwrap_or(1000)
}

/// Not `print!`, which a test runner shows for failures only.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// What one thread found.
#[derive(Default)]
struct Found {
    count: u64,
    /// Time spent on cases for which nothing was compiled.
    warm: Duration,
    failed: Vec<u64>,
}

/// Every `step`-th case from the first on.
fn random_cases(name: &'static str, device: &Device, numbers: Range<u64>, step: usize) -> Found {
    let everywhere = Everywhere::new(name, device);
    let limits = everywhere.limits();
    let pool = || run::pool(setting("NORM_PROPERTY_POOL").unwrap_or(0), POOL);
    let strategy = run::drawn((!everywhere.is_native()).then(pool));
    let mut found = Found::default();
    for number in numbers.step_by(step) {
        let start = Instant::now();
        let outcome = run::run(&strategy, number, &limits, |structure, case| {
            everywhere.judge(number, structure, case)
        });
        found.count += 1;
        found.warm += Some(start.elapsed())
            .filter(|took| *took < WARM)
            .unwrap_or_default();
        if let Err(message) = outcome {
            say(&format!(
                "{name}: case {number} fails: {message}\n  again: NORM_DEVICES={name} \
                 NORM_PROPERTY_CASE={number} cargo test --test properties\n"
            ));
            found.failed.push(number);
            if found.failed.len() == 5 {
                break;
            }
        }
    }
    found
}

#[test]
fn random_cases_are_right_on_every_device() {
    let numbers = numbers();
    let threads = available_parallelism().map_or(1, NonZero::get).min(4);
    let mut failed = vec![];
    for (name, device) in devices::selected() {
        let start = Instant::now();
        let found: Vec<Found> = thread::scope(|scope| {
            let handles: Vec<_> = (0..threads as u64)
                .map(|first| {
                    let numbers = numbers.start + first..numbers.end;
                    let device = &device;
                    scope.spawn(move || random_cases(name, device, numbers, threads))
                })
                .collect();
            let joined = handles.into_iter().map(|handle| handle.join());
            joined
                .map(|found| found.expect("panics are caught"))
                .collect()
        });
        let limits = Everywhere::new(name, &device).limits();
        let kinds: Vec<&str> = limits.kinds.iter().map(|kind| kind.name()).collect();
        let count: u64 = found.iter().map(|found| found.count).sum();
        let warm: Duration = found.iter().map(|found| found.warm).sum();
        say(&format!(
            "{name}: {count} random cases of {kinds:?} in {:.1} s on {threads} threads; {:.1} ms a case, \
             but for those that compiled kernels\n",
            start.elapsed().as_secs_f64(),
            1e3 * warm.as_secs_f64() / count.max(1) as f64,
        ));
        if !limits.narrows_64 {
            say(&format!(
                "{name}: skipped parameters of 16 bits beside rows of f64: the device rounds twice\n"
            ));
        }
        failed.extend(
            found
                .into_iter()
                .flat_map(|found| found.failed)
                .map(|number| (name, number)),
        );
    }
    assert!(failed.is_empty(), "{failed:?}: see above");
}
