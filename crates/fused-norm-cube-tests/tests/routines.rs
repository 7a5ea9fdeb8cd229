//! Every routine, forced over the catalogue, on every device that this build offers: also where the
//! device would not choose it.
#![cfg(feature = "cube")]

use std::io::Write;

use fused_norm_cube_tests::{Kernels, devices, of_the_mapping};
use fused_norm_kernels::cube::Routine;
use fused_norm_testkit::{Case, FloatKind, judge, selected};

fn judged(routine: Option<Routine>) {
    let devices = devices();
    for (name, device) in devices {
        let kernels = Kernels::new(name, &device, routine);
        for kind in FloatKind::ALL {
            if kind == FloatKind::F64 && name != "cpu" && cfg!(feature = "cpu") {
                say(&format!(
                    "skipped: F64 {name}: no plane adds f64; the lane of cpu, `variants` and the conformance \
                     suite judge the kernels that are left\n"
                ));
                continue;
            }
            let (cases, others): (Vec<Case>, Vec<Case>) = selected()
                .into_iter()
                .filter(|case| case.x_kind == kind)
                .partition(Case::is_plain);
            if !others.is_empty() {
                say(&format!(
                    "skipped {} x case: `variants`, `interleaved` and the conformance suite judge it\n",
                    others.len()
                ));
            }
            let (refused, cases): (Vec<Case>, Vec<Case>) =
                cases.into_iter().partition(|case| kernels.refuses(case));
            let report = judge(&kernels, &cases, &of_the_mapping());
            say(&format!("{kind:?} {report}"));
            if !refused.is_empty() {
                say(&format!(
                    "  skipped {} x case: rows that the routine cannot take here\n",
                    refused.len()
                ));
            }
            assert!(report.passed(), "see above");
        }
    }
}

/// Not `print!`, which a test runner shows for failures only.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

#[test]
fn selected_ones() {
    judged(None);
}

#[test]
fn plane() {
    judged(Some(Routine::Plane));
}

#[test]
fn cube() {
    judged(Some(Routine::Cube));
}

#[test]
fn looped() {
    judged(Some(Routine::Looped));
}

#[test]
fn unit() {
    judged(Some(Routine::Unit));
}
