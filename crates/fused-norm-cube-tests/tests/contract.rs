//! What the launcher's SAFETY rests on: buffers that do not fit are refused before anything is queued.
//! And the ways of a call: with a pitch, in place, with rstd: the same bits.
#![cfg(feature = "cube")]

use cubecl::client::Client;
use fused_norm_cube_tests::{bytes, devices, elem, values};
use fused_norm_kernels::cube::{
    self, Affine, Backward, Forward, Mapping, Operand, Parameter, Routine, Rows, Wanted,
};
use fused_norm_kernels::{Error, Problem};
use fused_norm_testkit::{FloatKind, patterns};

const ROWS: usize = 37;
const ROW_LEN: usize = 96;
const F32: FloatKind = FloatKind::F32;

fn clients() -> Vec<Client> {
    devices()
        .into_iter()
        .map(|(_, device)| device.client())
        .collect()
}

fn problem() -> Problem {
    Problem::new(ROWS, ROW_LEN, ROW_LEN / 2 + 1, 1e-5).unwrap()
}

fn upload(client: &Client, values: &[f64]) -> cubecl::server::Handle {
    client.create_from_slice(&bytes(F32, values))
}

fn x_values() -> Vec<f64> {
    (0..ROWS * ROW_LEN).map(patterns::p).collect()
}

fn rows(client: &Client, values: &[f64]) -> Rows {
    Rows::dense(upload(client, values), elem(F32), ROW_LEN)
}

fn gamma(client: &Client, len: usize) -> Affine {
    let values: Vec<f64> = (0..len).map(patterns::g).collect();
    Affine::Scale {
        gamma: Parameter {
            handle: upload(client, &values),
            elem: elem(F32),
        },
    }
}

fn forward(x: Rows, affine: Affine) -> Forward {
    Forward {
        x,
        operand: Operand::None,
        affine,
        with_rstd: false,
        in_place: false,
        mapping: Mapping::default(),
    }
}

#[test]
fn a_forward_pass_refuses_buffers_that_do_not_fit() {
    for client in clients() {
        let refused = |args: Forward| cube::forward(&client, &problem(), args).unwrap_err();
        let x = || rows(&client, &x_values());
        let short = rows(&client, &x_values()[1..]);
        assert!(matches!(
            refused(forward(short, Affine::None)),
            Error::Length { buffer: "x", .. }
        ));
        let error = refused(forward(x(), gamma(&client, ROW_LEN - 1)));
        assert!(
            matches!(
                error,
                Error::Length {
                    buffer: "gamma",
                    ..
                }
            ),
            "{error}"
        );
        let odd = Rows {
            pitch: ROW_LEN + 1,
            ..x()
        };
        assert!(matches!(
            refused(forward(odd, Affine::None)),
            Error::Pitch { buffer: "x", .. }
        ));
        let mut moved = x();
        moved.handle = moved.handle.offset_start(4);
        assert!(matches!(
            refused(forward(moved, Affine::None)),
            Error::Offset { buffer: "x", .. }
        ));
        let mut int = x();
        int.elem = cubecl::ir::ElemType::Int(cubecl::ir::IntKind::I32);
        assert!(matches!(
            refused(forward(int, Affine::None)),
            Error::Type { buffer: "x", .. }
        ));
    }
}

#[test]
fn a_backward_pass_refuses_buffers_that_do_not_fit() {
    let wanted = Wanted {
        dx: true,
        dgamma: true,
        ..Wanted::default()
    };
    for client in clients() {
        let x = || rows(&client, &x_values());
        let rstd = |len: usize| upload(&client, &vec![1.0; len]);
        let args = |dy, x, rstd, affine| Backward {
            dy,
            x,
            gate: None,
            rstd,
            affine,
            wanted,
            mapping: Mapping::default(),
        };
        let refused = |args: Backward| cube::backward(&client, &problem(), args).unwrap_err();
        let gamma = || gamma(&client, ROW_LEN);
        let short = rows(&client, &x_values()[1..]);
        let error = refused(args(short, x(), rstd(ROWS), gamma()));
        assert!(
            matches!(error, Error::Length { buffer: "dy", .. }),
            "{error}"
        );
        let error = refused(args(x(), x(), rstd(ROWS - 1), gamma()));
        assert!(
            matches!(error, Error::Length { buffer: "rstd", .. }),
            "{error}"
        );
        let mut other = x();
        other.elem = elem(FloatKind::F16);
        let error = refused(args(other, x(), rstd(ROWS), gamma()));
        assert!(matches!(error, Error::Type { buffer: "dy", .. }), "{error}");
        let error = refused(args(x(), x(), rstd(ROWS), Affine::None));
        assert!(matches!(error, Error::MissingParameter("gamma")), "{error}");
    }
}

/// No rows of a length that 32 bits cannot count: nothing to compute, or a refusal.
#[test]
fn no_rows_of_any_length_are_computed_or_refused() {
    const LONG: usize = 1 << 40;
    let problem = Problem::new(0, LONG, LONG, 1e-5).unwrap();
    for client in clients() {
        for routine in [None].into_iter().chain(Routine::ALL.map(Some)) {
            let mapping = Mapping {
                routine,
                limits: None,
            };
            let x = Rows::dense(upload(&client, &[0.0]), elem(F32), LONG);
            let backward = Backward {
                dy: x.clone(),
                x: x.clone(),
                gate: None,
                rstd: upload(&client, &[0.0]),
                affine: Affine::None,
                wanted: Wanted {
                    dx: true,
                    ..Wanted::default()
                },
                mapping,
            };
            let forward = Forward {
                mapping,
                ..forward(x, Affine::None)
            };
            let forward = cube::forward(&client, &problem, forward).map(|out| out.y);
            let backward = cube::backward(&client, &problem, backward).map(|out| out.dx.unwrap());
            for (pass, found) in [("forward", forward), ("backward", backward)] {
                match found {
                    Ok(found) => assert_eq!(found.size_in_used(), 0, "{pass} {routine:?}"),
                    Err(Error::Routine { .. }) => assert!(routine.is_some(), "{pass}"),
                    Err(Error::Addresses { elements }) => assert_eq!(elements, LONG, "{pass}"),
                    Err(error) => panic!("{pass} {routine:?}: {error}"),
                }
            }
        }
    }
}

#[test]
fn every_way_of_a_forward_pass_gives_the_same_bits() {
    // A pitch that every vector size divides, and NaN between the rows.
    const PITCH: usize = 2 * ROW_LEN;
    let values_of = |client: &Client, handle| values(F32, &client.read_one_unchecked(handle));
    for client in clients() {
        for routine in [None].into_iter().chain(Routine::ALL.map(Some)) {
            let run = |x: Rows, with_rstd, in_place| {
                let affine = gamma(&client, ROW_LEN);
                let args = Forward {
                    x,
                    operand: Operand::None,
                    affine,
                    with_rstd,
                    in_place,
                    mapping: Mapping {
                        routine,
                        limits: None,
                    },
                };
                cube::forward(&client, &problem(), args).map(|out| values_of(&client, out.y))
            };
            let plain = match run(rows(&client, &x_values()), false, false) {
                Ok(plain) => plain,
                // This device cannot run the routine; the planner's tests say which can.
                Err(Error::Routine { .. }) => continue,
                Err(error) => panic!("{routine:?}: {error}"),
            };
            assert!(plain.iter().all(|y| y.is_finite()));
            let mut wide = vec![f64::NAN; ROWS * PITCH];
            for (wide, row) in wide.chunks_mut(PITCH).zip(x_values().chunks(ROW_LEN)) {
                wide[..ROW_LEN].copy_from_slice(row);
            }
            let mut pitched = rows(&client, &wide);
            pitched.pitch = PITCH;
            assert_eq!(
                run(pitched, false, false).unwrap(),
                plain,
                "{routine:?} with a pitch"
            );
            let x = || rows(&client, &x_values());
            assert_eq!(
                run(x(), true, false).unwrap(),
                plain,
                "{routine:?} with rstd"
            );
            assert_eq!(
                run(x(), false, true).unwrap(),
                plain,
                "{routine:?} in place"
            );
        }
    }
}
