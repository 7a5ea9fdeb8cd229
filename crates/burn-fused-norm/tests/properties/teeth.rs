//! Would random cases find a mistake?

use fused_norm_testkit::teeth::Fault;
use fused_norm_testkit::{FloatKind, Scalar};

use crate::draw::{self, Limits};
use crate::run;

/// A mistake has to show within so many cases.
const CASES: u64 = 500;

fn everything() -> Limits {
    Limits {
        kinds: FloatKind::ALL.to_vec(),
        rank: 8,
        whole_range: false,
        exponential_64: true,
        narrows_64: true,
    }
}

#[test]
fn the_right_subject_passes() {
    let (strategy, limits, right) = (run::drawn(None), everything(), Scalar::right());
    for number in 0..2 * CASES {
        let outcome = run::run(&strategy, number, &limits, |structure, case| {
            run::judge(&right, case, structure)?;
            run::judge_values(&right, case)
        });
        outcome.unwrap_or_else(|message| panic!("case {number}: {message}"));
    }
}

#[test]
fn every_planted_mistake_shows() {
    let (strategy, limits) = (run::drawn(None), everything());
    let mut hidden = vec![];
    for fault in Fault::ALL {
        let wrong = Scalar::wrong(*fault);
        let found = (0..CASES).find_map(|number| {
            let (structure, numbers) = run::genes(&strategy, number);
            let case = draw::case(&structure, &numbers, &limits);
            let message = run::judge(&wrong, &case, &structure).err()?;
            Some((number, message))
        });
        match found {
            Some((number, message)) => {
                let line = message.lines().next().unwrap_or_default();
                println!("{fault:?}: case {number}: {line}");
            }
            None => hidden.push(fault),
        }
    }
    assert!(hidden.is_empty(), "hidden in {CASES} cases: {hidden:?}");
}
