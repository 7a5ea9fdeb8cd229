//! One suite for every device, type and mode that this build offers.
//!
//! - `NORM_FILTER` runs the cases whose name contains it, `NORM_DEVICES` (a comma-separated list)
//!   the devices named, which must then be there.
//! - `NORM_THOROUGH=1` runs large cases on CubeCL devices in every mode, not only in the contract's.
//! - Every skip is counted in a printed line with its reason.

#[path = "../common/mod.rs"]
mod common;
mod inputs;
mod operation;
mod skips;
mod subject;
mod tensors;
mod through_autodiff;
mod through_contract;

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Instant;

use common::devices;
use fused_norm_testkit::{Case, FloatKind, Property, judge, properties, selected};
use subject::{Mode, OnDevice};

fn judged(kind: FloatKind, mode: Mode) {
    let cases: Vec<Case> = selected()
        .into_iter()
        .filter(|case| case.x_kind == kind)
        .collect();
    for (name, device) in devices::selected() {
        let subject = OnDevice {
            name,
            device,
            mode,
            once: false,
        };
        let (asked, exempt): (Vec<Property>, Vec<Property>) = properties()
            .into_iter()
            .partition(|property| subject.exempt(property.name).is_none());
        let mut skipped = BTreeMap::<&str, usize>::new();
        let mut run = Vec::new();
        for case in &cases {
            match subject.skips(case) {
                Some(reason) => *skipped.entry(reason).or_default() += 1,
                None => run.push(case.clone()),
            }
        }
        let start = Instant::now();
        let report = judge(&subject, &run, &asked);
        let seconds = start.elapsed().as_secs();
        let mut text = format!("{report}  {kind} took {seconds} s\n");
        for (reason, count) in skipped {
            text += &format!("  skipped {count} x case: {reason}\n");
        }
        for property in exempt.iter().map(|property| property.name) {
            let reason = subject.exempt(property).unwrap_or_default();
            text += &format!("  skipped {property}: {reason}\n");
        }
        // Not `print!`, which a test runner shows for failures only.
        let _ = std::io::stderr().write_all(text.as_bytes());
        assert!(report.passed(), "see above");
    }
}

macro_rules! conformance {
    ($($mode:ident: $value:expr;)*) => {$(
        mod $mode {
            use super::*;

            #[test]
            fn f64() {
                judged(FloatKind::F64, $value);
            }

            #[test]
            fn f32() {
                judged(FloatKind::F32, $value);
            }

            #[test]
            fn f16() {
                judged(FloatKind::F16, $value);
            }

            #[test]
            fn bf16() {
                judged(FloatKind::BF16, $value);
            }
        }
    )*};
}

conformance! {
    autodiff: Mode::Autodiff;
    checkpointed: Mode::Checkpointed;
    contract: Mode::Contract;
    decomposed: Mode::Decomposed;
}
