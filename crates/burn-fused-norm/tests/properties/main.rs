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
#[path = "../conformance/devices.rs"]
mod devices;
mod draw;
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

use std::io::Write;
use std::ops::Range;
use std::time::{Duration, Instant};

use fused_norm_testkit::{Case, FloatKind, Subject};

use draw::Limits;
use genes::Structure;
use subject::{Mode, OnDevice};

/// Structures drawn for a device that compiles kernels for each.
const POOL: u64 = 24;

/// Of so many cases on such a device one is judged by every property, the others by their values: a
/// run takes milliseconds there, most of it to move tensors.
const ALL_PROPERTIES: u64 = 16;

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

/// A device in each mode in which random cases reach it.
struct Everywhere {
    autodiff: OnDevice,
    checkpointed: OnDevice,
    contract: OnDevice,
    /// The contract, run once.
    lean: OnDevice,
}

impl Everywhere {
    /// Burn's own operations around ours are kernels to compile as well, of every rank and type: the
    /// contract does without.
    fn choose(&self, structure: &Structure, case: &Case) -> &dyn Subject {
        let native = matches!(self.contract.name, "flex" | "ndarray");
        let chosen = match structure.mode {
            0..=2 if native => &self.autodiff,
            3 if native => &self.checkpointed,
            0 if case.is_plain() && case.shape.len() <= 2 => &self.autodiff,
            _ => &self.contract,
        };
        match chosen.skips(case) {
            Some(_) => &self.contract,
            None => chosen,
        }
    }
}

#[test]
fn random_cases_are_right_on_every_device() {
    let numbers = numbers();
    let mut failed = vec![];
    for (name, device) in devices::selected() {
        let on = |mode, once| OnDevice {
            name,
            device: device.clone(),
            mode,
            once,
        };
        let everywhere = Everywhere {
            autodiff: on(Mode::Autodiff, false),
            checkpointed: on(Mode::Checkpointed, false),
            contract: on(Mode::Contract, false),
            lean: on(Mode::Contract, true),
        };
        let native = matches!(name, "flex" | "ndarray");
        let kinds = FloatKind::ALL.into_iter();
        let limits = Limits {
            kinds: kinds
                .filter(|kind| everywhere.contract.supports(*kind))
                .collect(),
            // Burn's NdArray permutes, multiplies and reshapes tensors of up to six axes.
            rank: if name == "ndarray" { 6 } else { 8 },
            whole_range: native,
            exponential_64: native,
        };
        let strategy = run::drawn(
            (!native).then(|| run::pool(setting("NORM_PROPERTY_POOL").unwrap_or(0), POOL)),
        );
        let start = Instant::now();
        let (mut count, mut warm) = (0, Duration::ZERO);
        for number in numbers.clone() {
            count += 1;
            let before = Instant::now();
            let lean = !native && number % ALL_PROPERTIES != 0;
            let outcome = run::run(&strategy, number, &limits, |structure, case| match lean {
                true => run::judge_values(&everywhere.lean, case),
                false => run::judge(everywhere.choose(structure, case), case, structure),
            });
            warm += Some(before.elapsed())
                .filter(|took| *took < WARM)
                .unwrap_or_default();
            if let Err(message) = outcome {
                say(&format!(
                    "{name}: case {number} fails: {message}\n  again: NORM_DEVICES={name} \
                     NORM_PROPERTY_CASE={number} cargo test --test properties\n"
                ));
                failed.push((name, number));
                if failed.len() == 5 {
                    break;
                }
            }
        }
        let kinds: Vec<&str> = limits.kinds.iter().map(|kind| kind.name()).collect();
        let seconds = start.elapsed().as_secs_f64();
        say(&format!(
            "{name}: {count} random cases of {kinds:?} in {seconds:.1} s, {:.1} s without those that \
             compiled kernels\n",
            warm.as_secs_f64()
        ));
    }
    assert!(failed.is_empty(), "{failed:?}: see above");
}
