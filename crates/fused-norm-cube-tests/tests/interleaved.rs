//! Rows that lie side by side, against the reference for rows one after the other, and the buffers that
//! are refused.
#![cfg(feature = "cube")]

use fused_norm_cube_tests::side_by_side::{SHAPES, SideBySide};
use fused_norm_cube_tests::{bytes, devices, elem};
use fused_norm_kernels::cube::{self, InterleavedBackward, InterleavedForward, Wanted};
use fused_norm_kernels::{Error, Problem};
use fused_norm_testkit::FloatKind;

#[test]
fn values_of_both_passes() {
    for (name, device) in devices() {
        let client = device.client();
        for kind in FloatKind::ALL {
            if !cube::supports(&client, elem(kind)) {
                eprintln!("skipped: {kind:?} on {name}, which lacks it");
                continue;
            }
            for (turn, shape) in SHAPES.into_iter().enumerate() {
                let sides = SideBySide::new(shape, kind, turn);
                // Dense; gaps that no vector divides; gaps that vectors divide.
                for gaps in [[0, 0], [3, 5], [16, 0]] {
                    let wrong = sides.wrong(&client, gaps, sides.rows.all());
                    assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n"));
                }
            }
        }
    }
}

#[test]
fn one_gradient_at_a_time() {
    let none = Wanted::default();
    let each = [
        Wanted { dx: true, ..none },
        Wanted {
            dgamma: true,
            ..none
        },
        Wanted {
            dbeta: true,
            ..none
        },
    ];
    for (name, device) in devices() {
        for wanted in each {
            let sides = SideBySide::new(SHAPES[1], FloatKind::F32, 0);
            let wrong = sides.wrong(&device.client(), [0, 0], wanted);
            assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n"));
        }
    }
}

/// Where rows lie decides how many of them a load takes, but not what they give.
#[test]
fn a_row_has_the_same_bits_wherever_it_lies() {
    for (name, device) in devices() {
        let client = device.client();
        for shape in [[3, 64, 30, 12], [2, 300, 300, 8]] {
            let sides = SideBySide::new(shape, FloatKind::F32, 0);
            let bits = |sides: &SideBySide, gaps| {
                let [y, rstd, dx, ..] = sides.outputs(&client, gaps, sides.rows.all());
                let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits);
                bits(y)
                    .chain(bits(rstd))
                    .chain(bits(dx))
                    .collect::<Vec<_>>()
            };
            let dense = bits(&sides, [0, 0]);
            assert!(dense == bits(&sides, [0, 0]), "{name} again");
            assert!(dense == bits(&sides, [3, 5]), "{name} with gaps");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let sides = SideBySide::new([2, 6, 6, 4], FloatKind::F32, 0);
    let problem = sides.rows.problem;
    for (_, device) in devices() {
        let client = device.client();
        let refused = |problem: &Problem, change: fn(&mut InterleavedForward)| {
            let mut args = sides.forward(&client, 0);
            change(&mut args);
            cube::interleaved_forward(&client, problem, args).unwrap_err()
        };
        for (change, inner) in [
            ((|args| args.x.inner = 3) as fn(&mut InterleavedForward), 3),
            (|args| args.x.inner = 0, 0),
        ] {
            assert_eq!(refused(&problem, change), Error::Inner { inner, rows: 8 });
        }
        let error = refused(&problem, |args| args.x.pitch += 1);
        assert!(
            matches!(error, Error::Length { buffer: "x", .. }),
            "{error}"
        );
        let error = refused(&problem, |args| args.x.pitch = usize::MAX);
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
        let several = problem.with_gamma_rows(2).unwrap();
        let error = refused(&several, |_| ());
        assert_eq!(error, Error::GammaRowsSideBySide { gamma_rows: 2 });
        let backward = |change: fn(&mut InterleavedBackward)| {
            let x = || sides.upload(&client, &sides.rows.inputs.x, 0);
            let mut args = InterleavedBackward {
                dy: x(),
                x: x(),
                rstd: client.create_from_slice(&bytes(FloatKind::F32, &[1.0; 8])),
                affine: sides.rows.affine(&client),
                wanted: sides.rows.all(),
            };
            change(&mut args);
            cube::interleaved_backward(&client, &problem, args).unwrap_err()
        };
        let error = backward(|args| args.wanted.dgate = true);
        assert_eq!(error, Error::MissingParameter("gate"));
        let error = backward(|args| args.dy.inner = 2);
        let length = Error::Length {
            buffer: "the inner axis of dy",
            expected: 4,
            found: 2,
        };
        assert_eq!(error, length);
        let error = backward(|args| args.affine = cube::Affine::None);
        assert_eq!(error, Error::MissingParameter("gamma"));
        let error = backward(|args| args.dy.elem = elem(FloatKind::F16));
        assert!(matches!(error, Error::Type { buffer: "dy", .. }), "{error}");
        let error = backward(|args| args.rstd = args.rstd.clone().offset_end(4));
        assert!(
            matches!(error, Error::Length { buffer: "rstd", .. }),
            "{error}"
        );
    }
}
