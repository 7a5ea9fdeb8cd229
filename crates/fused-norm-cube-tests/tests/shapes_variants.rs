//! Variants of the operation on row lengths around the limits of a routine; and the same bits whatever
//! surrounds a row and however often it is computed.
#![cfg(feature = "cube")]

use cubecl::client::Client;
use cubecl::server::Handle;
use fused_norm_cube_tests::side_by_side::SideBySide;
use fused_norm_cube_tests::trial::{OPERANDS, Trial};
use fused_norm_cube_tests::{bytes, devices, elem, values};
use fused_norm_kernels::Problem;
use fused_norm_kernels::cube::{self, Affine, Backward, Mapping, Parameter, Routine, Rows, Wanted};
use fused_norm_testkit::{FloatKind, tolerance};

/// Where GPUs with planes of 32 change the routine, or what a lane holds, with rows beside x.
const ROW_LENS: [usize; 9] = [257, 511, 516, 1023, 2052, 4097, 8196, 16_388, 32_772];
const KIND: FloatKind = FloatKind::F32;

#[test]
fn row_lengths_around_every_switch() {
    for (name, device) in devices() {
        let client = device.client();
        for (turn, row_len) in ROW_LENS.into_iter().enumerate() {
            for operand in OPERANDS {
                let trial = Trial::new([4, row_len, row_len / 3, 2], operand, KIND, turn);
                let wrong = trial.wrong(&client, None, trial.all());
                assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n"));
            }
        }
    }
}

/// The bytes of y, the sum, dx, dgate, dgamma and dbeta.
fn outputs(trial: &Trial, client: &Client) -> [Vec<u8>; 6] {
    let (normalised, gradients) = trial.run(client, None, trial.all());
    let read = |handle: Option<Handle>| {
        handle.map_or(vec![], |handle| client.read_one_unchecked(handle).to_vec())
    };
    [
        read(Some(normalised.y)),
        read(normalised.sum),
        read(gradients.dx),
        read(gradients.dgate),
        read(gradients.dgamma),
        read(gradients.dbeta),
    ]
}

#[test]
fn five_runs_give_the_same_bits() {
    for (name, device) in devices() {
        let client = device.client();
        for operand in OPERANDS {
            for shape in [[4096, 64, 64, 32], [300, 1000, 501, 3]] {
                let trial = Trial::new(shape, operand, KIND, 0);
                let first = outputs(&trial, &client);
                for _ in 1..5 {
                    assert!(outputs(&trial, &client) == first, "{name} {}", trial.name());
                }
            }
        }
        let sides = SideBySide::new([3, 300, 300, 40], KIND, 0);
        let run = || sides.outputs(&client, [0, 0], sides.rows.all());
        let first = run();
        for _ in 1..5 {
            assert!(run() == first, "{name} side by side");
        }
    }
}

/// The numbers of a trial begin with those of a smaller one.
#[test]
fn a_row_has_the_same_bits_in_any_batch() {
    const ROWS: usize = 6;
    for (name, device) in devices() {
        let client = device.client();
        for operand in OPERANDS {
            for row_len in [20, 1000] {
                let of = |rows| Trial::new([rows, row_len, row_len / 2, 3], operand, KIND, 0);
                let few = outputs(&of(ROWS), &client);
                let many = outputs(&of(999), &client);
                for (few, many) in few.iter().zip(&many).take(4) {
                    assert!(*few == many[..few.len()], "{name} {operand:?} {row_len}");
                }
                assert_eq!(few[0].len(), ROWS * row_len * 4, "y was compared");
            }
        }
    }
}

/// The same row again and again, of a dy that is no power of two. GPUs' cubes add up what they walk over in
/// one sum, which is documented.
#[test]
fn sums_over_many_rows_do_not_drift() {
    const ROWS: usize = 1 << 17;
    const ROW_LEN: usize = 64;
    let problem = Problem::new(ROWS, ROW_LEN, ROW_LEN, 1e-5).unwrap();
    let tolerance = tolerance(KIND, KIND, ROWS);
    let exact = ROWS as f64 * f64::from(0.1_f32);
    for (name, device) in devices() {
        let client = device.client();
        let upload = |value: f64, len| client.create_from_slice(&bytes(KIND, &vec![value; len]));
        let row = |value| Rows {
            pitch: 0,
            ..Rows::dense(upload(value, ROW_LEN), elem(KIND), ROW_LEN)
        };
        let parameter = || Parameter {
            handle: upload(1.0, ROW_LEN),
            elem: elem(KIND),
        };
        for routine in [Routine::Looped, Routine::Unit] {
            let args = Backward {
                dy: row(0.1),
                x: row(1.0),
                gate: None,
                rstd: upload(1.0, ROWS),
                affine: Affine::ScaleShift {
                    gamma: parameter(),
                    beta: parameter(),
                },
                wanted: Wanted {
                    dgamma: true,
                    dbeta: true,
                    ..Wanted::default()
                },
                mapping: Mapping {
                    routine: Some(routine),
                    limits: None,
                },
            };
            let gradients = cube::backward(&client, &problem, args).unwrap();
            for handle in [gradients.dgamma, gradients.dbeta] {
                let sums = values(KIND, &client.read_one_unchecked(handle.unwrap()));
                for sum in sums {
                    assert!(
                        tolerance.accepts(sum, exact, exact),
                        "{name} {routine:?}: {sum}, expected {exact}"
                    );
                }
            }
        }
    }
}
