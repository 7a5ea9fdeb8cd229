//! Cases by number, and what is done with one that fails.

use std::sync::LazyLock;

use fused_norm_testkit::compare::rerun;
use fused_norm_testkit::properties::property;
use fused_norm_testkit::{Case, Property, Subject, Trial, Verdict};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use crate::draw::{self, Limits};
use crate::genes::{self, Numbers, Structure};

/// Asked of every case; they share one run of inference and one of training.
static ALWAYS: LazyLock<Vec<Property>> = LazyLock::new(|| {
    let names = [
        "forward values",
        "sum values",
        "dx values",
        "dsecond values",
        "dgamma values",
        "dbeta values",
        "output types",
        "inputs unchanged",
        "inference equals training",
    ];
    names.map(property).to_vec()
});

/// One of them is asked of a case: they run it several times, or others like it. Two say nothing
/// about most cases, and are asked twice as often.
const IN_TURN: [&str; 11] = [
    "deterministic",
    "batch invariance",
    "batch invariance",
    "rank invariance",
    "rank invariance",
    "rows are independent",
    "prefix independence",
    "scale invariance",
    "no memory of earlier calls",
    "gradients exactly for tracked inputs",
    "whole partial equals none",
];

/// Structures for a device that compiles kernels for each: drawn, but every variant meets every kind
/// and every form of the parameters.
pub fn pool(number: u64, size: u64) -> Vec<Structure> {
    let mut runner = runner(u64::MAX - number);
    let structures = genes::structure();
    (0..size as usize)
        .map(|index| Structure {
            variant: index % 4,
            affine: 2 - index / 4 % 3,
            kind: (index + index / 4) % 4,
            ..structures
                .new_tree(&mut runner)
                .expect("no filter")
                .current()
        })
        .collect()
}

/// Every structure, or those of a pool.
pub fn drawn(pool: Option<Vec<Structure>>) -> BoxedStrategy<(Structure, Numbers)> {
    let structures = match pool {
        Some(pool) => prop::sample::select(pool).boxed(),
        None => genes::structure().boxed(),
    };
    (structures, genes::numbers()).boxed()
}

/// The source of chance of one case: its number alone decides.
fn runner(number: u64) -> TestRunner {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    let config = Config {
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
}

/// The genes of a case.
pub fn genes(strategy: &BoxedStrategy<(Structure, Numbers)>, number: u64) -> (Structure, Numbers) {
    let tree = strategy.new_tree(&mut runner(number));
    tree.expect("no filter").current()
}

/// What is wrong with a subject on a case, if anything is.
pub fn judge(subject: &dyn Subject, case: &Case, structure: &Structure) -> Result<(), String> {
    let trial = Trial::new(subject, case);
    trial.training()?;
    let in_turn = property(IN_TURN[structure.extra % IN_TURN.len()]);
    for property in ALWAYS.iter().chain([&in_turn]) {
        if let Verdict::Fail(message) = (property.check)(&trial) {
            // The command is for cases with a name.
            let message = message.replace(&rerun(&case.name), "");
            return Err(format!("{}: {}", property.name, message.trim_end()));
        }
    }
    Ok(())
}

/// Runs case `number`; one that fails is made as simple as it can be while it still fails.
pub fn run<'a>(
    strategy: &BoxedStrategy<(Structure, Numbers)>,
    number: u64,
    limits: &Limits,
    subject: impl Fn(&Structure, &Case) -> &'a dyn Subject,
) -> Result<(), String> {
    let judged = |structure: &Structure, numbers: &Numbers| {
        let case = draw::case(structure, numbers, limits);
        judge(subject(structure, &case), &case, structure).map_err(|message| (message, case))
    };
    let mut runner = runner(number);
    let tree = strategy.new_tree(&mut runner).expect("no filter");
    let outcome = runner.run_one(tree, |(structure, numbers)| {
        judged(&structure, &numbers).map_err(|(message, _)| TestCaseError::fail(message))
    });
    match outcome {
        Ok(_) => Ok(()),
        Err(TestError::Fail(reason, (structure, numbers))) => {
            let case = draw::case(&structure, &numbers, limits);
            Err(format!(
                "{reason}\n  the simplest: {}",
                draw::describe(&case)
            ))
        }
        Err(TestError::Abort(reason)) => Err(reason.to_string()),
    }
}
