//! Cases by number, and what is done with one that fails.

use std::sync::LazyLock;

use fused_norm_testkit::compare::rerun;
use fused_norm_testkit::properties::property;
use fused_norm_testkit::{Case, Property, Quantity, Subject, Trial, Variant, Verdict};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use crate::describe::describe;
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
            let message = self::message(case, &message);
            return Err(format!("{}: {message}", property.name));
        }
    }
    Ok(())
}

/// What is wrong with the values of a run that tracks everything, if anything is.
pub fn judge_values(subject: &dyn Subject, case: &Case) -> Result<(), String> {
    let trial = Trial::new(subject, case);
    let outcome = trial.training()?;
    let kind = case.x_kind;
    let (gamma, beta) = (case.affine.has_gamma(), case.affine.has_beta());
    let second = case.variant.has_second();
    let y = Some((outcome.y.clone(), outcome.y_kind));
    for (quantity, found, kind, there) in [
        (Quantity::Y, &y, kind, true),
        (
            Quantity::Sum,
            &outcome.sum,
            kind,
            case.variant == Variant::Add,
        ),
        (Quantity::Dx, &outcome.dx, kind, true),
        (Quantity::Dsecond, &outcome.dsecond, kind, second),
        (Quantity::Dgamma, &outcome.dgamma, case.gamma_kind, gamma),
        (Quantity::Dbeta, &outcome.dbeta, case.beta_kind, beta),
    ] {
        match found {
            Some((values, found)) if there && *found == kind => {
                let compared = trial.compare(quantity, values);
                compared.map_err(|mismatch| message(case, &mismatch.to_string()))?;
            }
            Some((_, found)) if there => {
                return Err(format!("{quantity} has type {found}, expected {kind}"));
            }
            None if !there => {}
            _ => return Err(format!("{quantity} is missing, or there without need")),
        }
    }
    Ok(())
}

/// Without the command that runs a case again, which is for cases with a name.
fn message(case: &Case, message: &str) -> String {
    message.replace(&rerun(&case.name), "").trim_end().into()
}

/// Runs case `number`; one that fails is made as simple as it can be while it still fails.
pub fn run(
    strategy: &BoxedStrategy<(Structure, Numbers)>,
    number: u64,
    limits: &Limits,
    judged: impl Fn(&Structure, &Case) -> Result<(), String>,
) -> Result<(), String> {
    let mut runner = runner(number);
    let tree = strategy.new_tree(&mut runner).expect("no filter");
    let outcome = runner.run_one(tree, |(structure, numbers)| {
        let case = draw::case(&structure, &numbers, limits);
        judged(&structure, &case).map_err(TestCaseError::fail)
    });
    match outcome {
        Ok(_) => Ok(()),
        Err(TestError::Fail(reason, (structure, numbers))) => {
            let case = draw::case(&structure, &numbers, limits);
            Err(format!("{reason}\n  the simplest: {}", describe(&case)))
        }
        Err(TestError::Abort(reason)) => Err(reason.to_string()),
    }
}
