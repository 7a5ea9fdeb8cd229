//! One suite for every device, type and mode that this build offers.
//!
//! - `NORM_FILTER` runs the cases whose name contains it, `NORM_DEVICES` (a comma-separated list)
//!   the devices named, which must then be there.
//! - Every skip is a printed line with its reason (`-- --nocapture` shows them).

#[path = "../common/mod.rs"]
mod common;
mod devices;
mod subject;
mod tensors;

use fused_norm_testkit::{Case, FloatKind, Property, judge, properties, selected};
use subject::{Mode, OnDevice};

/// Cases above this size run in the modes that people use; the rest of the modes differ in what is
/// called, not in what a long row does to it.
const LARGE: usize = 30_000;

fn judged(kind: FloatKind, mode: Mode) {
    let cases: Vec<Case> = selected()
        .into_iter()
        .filter(|case| case.x_kind == kind)
        .collect();
    let (asked, exempt): (Vec<Property>, Vec<Property>) = properties()
        .into_iter()
        .partition(|property| mode.exempt(property.name).is_none());
    for (name, device) in devices::selected() {
        let subject = OnDevice { name, device, mode };
        let (cases, large): (Vec<Case>, Vec<Case>) = cases
            .iter()
            .cloned()
            .partition(|case| mode.runs_large() || case.elements() <= LARGE);
        let report = judge(&subject, &cases, &asked);
        println!("{report}");
        for property in exempt.iter().map(|property| property.name) {
            println!(
                "  skipped {property}: {}",
                mode.exempt(property).unwrap_or_default()
            );
        }
        if !large.is_empty() {
            println!(
                "  skipped {} x case: above {LARGE} elements in this mode",
                large.len()
            );
        }
        assert!(report.passed(), "{report}");
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
