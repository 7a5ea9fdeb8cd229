//! Every routine, forced over the catalogue, on every device that this build offers: also where the
//! device would not choose it.

use std::io::Write;

use fused_norm_cube_tests::{Kernels, devices};
use fused_norm_kernels::cube::Routine;
use fused_norm_testkit::{Case, FloatKind, judge, properties, selected};

fn judged(routine: Option<Routine>) {
    let devices = devices();
    if devices.is_empty() {
        say("skipped: built without a CubeCL runtime (features cpu, wgpu, vulkan, cuda)\n");
    }
    for (name, device) in devices {
        let kernels = Kernels {
            name,
            client: device.client(),
            routine,
        };
        for kind in FloatKind::ALL {
            let cases: Vec<Case> = selected()
                .into_iter()
                .filter(|case| case.x_kind == kind)
                .collect();
            let (refused, cases): (Vec<Case>, Vec<Case>) =
                cases.into_iter().partition(|case| kernels.refuses(case));
            let report = judge(&kernels, &cases, &properties());
            say(&format!("{kind:?} {report}"));
            if !refused.is_empty() {
                say(&format!(
                    "  skipped {} x case: rows that {routine:?} cannot take here\n",
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
fn selected_routine() {
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
