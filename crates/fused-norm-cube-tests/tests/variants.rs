//! Every variant of the operation, with every routine that can take its rows, against f64: residual and
//! gate, several rows of gamma, a factor around 1, rounding at every step.
#![cfg(feature = "cube")]

use fused_norm_cube_tests::trial::{OPERANDS, SHAPES, Trial};
use fused_norm_cube_tests::{devices, elem};
use fused_norm_kernels::GateOrder;
use fused_norm_kernels::cube::{self, OperandKind, Routine, Wanted};
use fused_norm_testkit::FloatKind;

fn judged(kind: FloatKind) {
    for (name, device) in devices() {
        let client = device.client();
        if !cube::supports(&client, elem(kind)) {
            eprintln!("skipped: {kind:?} on {name}, which lacks it");
            continue;
        }
        let mut wrong = vec![];
        let mut turn = 0;
        let mut refused = 0;
        for operand in OPERANDS {
            for shape in SHAPES {
                let trial = Trial::new(shape, operand, kind, turn);
                turn += 1;
                for routine in Routine::ALL {
                    if trial.can_run(&client, routine) {
                        wrong.extend(trial.wrong(&client, Some(routine), trial.all()));
                    } else {
                        refused += 1;
                    }
                }
            }
        }
        eprintln!("{name} {kind:?}: skipped {refused} trials: rows that the routine cannot take");
        assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n"));
    }
}

#[test]
fn f32() {
    judged(FloatKind::F32);
}

#[test]
fn f64() {
    judged(FloatKind::F64);
}

#[test]
fn f16() {
    judged(FloatKind::F16);
}

#[test]
fn bf16() {
    judged(FloatKind::BF16);
}

/// Every gradient of a gated operation alone: kernels that leave out what the others need.
#[test]
fn one_gradient_at_a_time() {
    let none = Wanted::default();
    let each = [
        Wanted { dx: true, ..none },
        Wanted {
            dgate: true,
            ..none
        },
        Wanted {
            dgamma: true,
            ..none
        },
        Wanted {
            dbeta: true,
            ..none
        },
    ];
    let orders = [GateOrder::AfterNorm, GateOrder::BeforeNorm];
    for (name, device) in devices() {
        let client = device.client();
        for operand in orders.map(OperandKind::Gate) {
            // The first turn has a beta.
            let trial = Trial::new([12, 64, 30, 3], operand, FloatKind::F32, 0);
            for routine in [None, Some(Routine::Looped), Some(Routine::Unit)] {
                for wanted in each {
                    let wrong = trial.wrong(&client, routine, wanted);
                    assert!(wrong.is_empty(), "{name} {wanted:?}:\n{}", wrong.join("\n"));
                }
            }
        }
    }
}
