//! Rows beside x, and several rows of gamma, that do not fit are refused before anything is queued; those
//! that fit are read wherever they lie.
#![cfg(feature = "cube")]

use cubecl::client::Client;
use cubecl::server::Handle;
use fused_norm_cube_tests::reference::reference;
use fused_norm_cube_tests::trial::{OPERANDS, Trial};
use fused_norm_cube_tests::{bytes, devices, elem, values};
use fused_norm_kernels::cube::{
    self, Affine, Backward, DeviceLimits, Forward, Gate, Gradients, Mapping, Normalised, Operand,
    OperandKind, Parameter, Routine, Rows, Wanted,
};
use fused_norm_kernels::{Error, GateOrder};
use fused_norm_testkit::FloatKind;

const ROWS: usize = 6;
const ROW_LEN: usize = 96;
const KIND: FloatKind = FloatKind::F32;

fn trial(gamma_rows: usize) -> Trial {
    let order = GateOrder::AfterNorm;
    let shape = [ROWS, ROW_LEN, ROW_LEN, gamma_rows];
    Trial::new(shape, OperandKind::Gate(order), KIND, 0)
}

fn clients() -> Vec<Client> {
    let devices = devices().into_iter();
    devices.map(|(_, device)| device.client()).collect()
}

/// Whether rows are refused as they should be.
type IsRight = fn(&Error) -> bool;

/// Rows that do not fit, and how they are refused.
fn unfit(client: &Client) -> Vec<(Rows, IsRight)> {
    let trial = trial(1);
    let fitting = trial.rows(client, &trial.inputs.second);
    let short = trial.rows(client, &trial.inputs.second[1..]);
    let mut moved = fitting.clone();
    moved.handle = moved.handle.offset_start(4);
    vec![
        (short, |error| matches!(error, Error::Length { .. })),
        (moved, |error| matches!(error, Error::Offset { .. })),
        (
            Rows {
                pitch: ROW_LEN + 1,
                ..fitting.clone()
            },
            |error| matches!(error, Error::Pitch { .. }),
        ),
        (
            Rows {
                elem: elem(FloatKind::F16),
                ..fitting
            },
            |error| matches!(error, Error::Type { .. }),
        ),
    ]
}

#[test]
fn rows_beside_x_that_do_not_fit() {
    for client in clients() {
        let trial = trial(1);
        let order = GateOrder::BeforeNorm;
        let mapping = Mapping::default();
        let forward = trial.forward(&client, mapping);
        let normalised = cube::forward(&client, &trial.problem, forward.clone()).unwrap();
        let backward = trial.backward(&client, &normalised, trial.all(), mapping);
        for (rows, is_right) in unfit(&client) {
            let gate = Gate { rows, order };
            for (name, operand) in [
                ("residual", Operand::Residual(gate.rows.clone())),
                ("gate", Operand::Gate(gate.clone())),
            ] {
                let args = Forward {
                    operand,
                    ..forward.clone()
                };
                let error = cube::forward(&client, &trial.problem, args).unwrap_err();
                assert!(is_right(&error), "{error}");
                assert!(error.to_string().contains(name), "{error}");
            }
            let args = Backward {
                gate: Some(gate),
                ..backward.clone()
            };
            let error = cube::backward(&client, &trial.problem, args).unwrap_err();
            assert!(is_right(&error), "{error}");
            assert!(error.to_string().contains("gate"), "{error}");
        }
    }
}

#[test]
fn y_is_not_written_over_an_x_that_is_not_alone() {
    for client in clients() {
        let trial = trial(1);
        let args = Forward {
            in_place: true,
            ..trial.forward(&client, Mapping::default())
        };
        let error = cube::forward(&client, &trial.problem, args).unwrap_err();
        assert_eq!(error, Error::InPlace);
    }
}

#[test]
fn a_gate_that_is_not_there_has_no_gradient() {
    for client in clients() {
        let trial = trial(1);
        let mapping = Mapping::default();
        let forward = trial.forward(&client, mapping);
        let normalised = cube::forward(&client, &trial.problem, forward).unwrap();
        let args = Backward {
            gate: None,
            wanted: Wanted {
                dgate: true,
                ..Wanted::default()
            },
            ..trial.backward(&client, &normalised, trial.all(), mapping)
        };
        let error = cube::backward(&client, &trial.problem, args).unwrap_err();
        assert_eq!(error, Error::MissingParameter("gate"));
    }
}

#[test]
fn gamma_has_as_many_rows_as_the_problem_says() {
    for client in clients() {
        let trial = trial(3);
        let run = |len: usize| {
            let values = vec![1.0; len];
            let args = Forward {
                affine: Affine::Scale {
                    gamma: Parameter {
                        handle: client.create_from_slice(&bytes(KIND, &values)),
                        elem: elem(KIND),
                    },
                },
                ..trial.forward(&client, Mapping::default())
            };
            cube::forward(&client, &trial.problem, args)
        };
        let expected = 3 * ROW_LEN;
        let found = expected - 1;
        let buffer = "gamma";
        let error = Error::Length {
            buffer,
            expected,
            found,
        };
        assert_eq!(run(found).unwrap_err(), error);
        assert!(run(expected).is_ok());
    }
}

/// Rows `times` as far apart as dense ones, which every vector size divides, and NaN between them.
fn apart(client: &Client, rows: &[f64], times: usize) -> Rows {
    let pitch = times * ROW_LEN;
    let mut wide = vec![f64::NAN; ROWS * pitch];
    for (wide, row) in wide.chunks_mut(pitch).zip(rows.chunks(ROW_LEN)) {
        wide[..ROW_LEN].copy_from_slice(row);
    }
    Rows {
        pitch,
        ..Rows::dense(
            client.create_from_slice(&bytes(KIND, &wide)),
            elem(KIND),
            ROW_LEN,
        )
    }
}

/// All that both passes return; empty where there is nothing.
fn outputs(client: &Client, normalised: Normalised, gradients: Gradients) -> [Vec<f64>; 7] {
    let read = |handle: Option<Handle>| {
        let bytes = handle.map(|handle| client.read_one_unchecked(handle));
        bytes.map(|bytes| values(KIND, &bytes)).unwrap_or_default()
    };
    [
        read(Some(normalised.y)),
        read(normalised.sum),
        read(normalised.rstd),
        read(gradients.dx),
        read(gradients.dgate),
        read(gradients.dgamma),
        read(gradients.dbeta),
    ]
}

/// The routines that the rows can be given to; the others are told.
fn routines(name: &str, client: &Client, trial: &Trial) -> Vec<Routine> {
    let (can_run, cannot): (Vec<Routine>, Vec<Routine>) = Routine::ALL
        .into_iter()
        .partition(|&routine| trial.can_run(client, routine));
    assert!(!can_run.is_empty(), "{name} {}", trial.name());
    if !cannot.is_empty() {
        eprintln!("skipped: {cannot:?} on {name}, which cannot take these rows");
    }
    can_run
}

/// As where there are more rows than cubes of a launch, or of a GPU's multiprocessors, can take at once.
#[test]
fn three_cubes_walk_over_all_rows() {
    const ROWS: usize = 2000;
    for (name, device) in devices() {
        let client = device.client();
        let limits = DeviceLimits {
            max_cubes: 3,
            ..Mapping::default().limits_on(&client)
        };
        for operand in OPERANDS {
            let trial = Trial::new([ROWS, ROW_LEN, 50, 1], operand, KIND, 0);
            let expected = reference(&trial.problem, operand, trial.kinds(), &trial.inputs);
            for routine in routines(name, &client, &trial) {
                let (normalised, gradients) = trial.run(&client, Some(routine), trial.all());
                let many = outputs(&client, normalised, gradients);

                let mapping = Mapping {
                    routine: Some(routine),
                    limits: Some(limits),
                };
                let (normalised, gradients) = trial.run_as(&client, mapping, trial.all());
                let few = outputs(&client, normalised, gradients);

                let place = format!("{name} {routine:?} {}", trial.name());
                // All but the sums over rows.
                assert_eq!(few[..5], many[..5], "{place}");
                for (what, sums, expected) in [
                    ("dgamma", &few[5], &expected.dgamma),
                    ("dbeta", &few[6], &expected.dbeta),
                ] {
                    let wrong = expected.wrong(what, sums);
                    assert!(wrong.is_none(), "{place}: {wrong:?}");
                }
            }
        }
    }
}

#[test]
fn every_tensor_may_have_a_pitch_of_its_own() {
    for (name, device) in devices() {
        let client = device.client();
        for operand in OPERANDS {
            let trial = Trial::new([ROWS, ROW_LEN, 50, 1], operand, KIND, 0);
            for routine in routines(name, &client, &trial) {
                let mapping = Mapping {
                    routine: Some(routine),
                    limits: None,
                };
                let (normalised, gradients) = trial.run(&client, Some(routine), trial.all());
                let dense = outputs(&client, normalised, gradients);

                let second = || apart(&client, &trial.inputs.second, 3);
                let mut forward = trial.forward(&client, mapping);
                forward.x = apart(&client, &trial.inputs.x, 2);
                match &mut forward.operand {
                    Operand::None => {}
                    Operand::Residual(rows) => *rows = second(),
                    Operand::Gate(gate) => gate.rows = second(),
                }
                let normalised = cube::forward(&client, &trial.problem, forward).unwrap();
                let mut backward = trial.backward(&client, &normalised, trial.all(), mapping);
                backward.dy = apart(&client, &trial.inputs.dy, 4);
                if let Some(gate) = &mut backward.gate {
                    gate.rows = second();
                }
                if normalised.sum.is_none() {
                    backward.x = apart(&client, &trial.inputs.x, 2);
                }
                let gradients = cube::backward(&client, &trial.problem, backward).unwrap();
                let pitched = outputs(&client, normalised, gradients);
                assert_eq!(pitched, dense, "{routine:?} {}", trial.name());
            }
        }
    }
}
