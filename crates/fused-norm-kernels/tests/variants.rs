//! What holds for every variant on rows: where they lie, what is out of range or not finite, what is
//! refused, and that threads do not change a bit.

mod common;

use common::{ALL, ALL_GATED, Data, ORDERS, gate_value};
use fused_norm_kernels::cpu::{self, Affine, Gate, Rows};
use fused_norm_kernels::{Error, GateOrder, Problem};

/// Rows inside wider matrices, one for each buffer, whose other columns are NaN.
#[test]
fn rows_may_lie_anywhere() {
    let (rows, n) = (8, 37);
    let problem = Problem::new(rows, n, 20, 1e-5)
        .and_then(|problem| problem.with_gamma_rows(4))
        .unwrap();
    let data = Data::<f32>::new(&problem, gate_value);
    let affine = data.all_affine();
    let spread = |values: &[f32], pitch: usize| {
        let mut wider = vec![f32::NAN; rows * pitch];
        for (wider, row) in wider.chunks_mut(pitch).zip(values.chunks(n)) {
            wider[..n].copy_from_slice(row);
        }
        wider
    };
    let [x, second, dy] = [&data.x, &data.second, &data.dy].map(|rows| Rows::dense(rows, n));
    let wider = [
        spread(&data.x, 40),
        spread(&data.second, 38),
        spread(&data.dy, 53),
    ];
    let wider_x = Rows::with_pitch(&wider[0], 40);
    let wider_second = Rows::with_pitch(&wider[1], 38);
    let wider_dy = Rows::with_pitch(&wider[2], 53);

    let dense = cpu::add_forward(&problem, x, second, affine, true).unwrap();
    let spread = cpu::add_forward(&problem, wider_x, wider_second, affine, true).unwrap();
    assert!(dense == spread);
    for order in ORDERS {
        let gate = |rows| Gate { rows, order };
        let dense = cpu::gated_forward(&problem, x, gate(second), affine, true).unwrap();
        let gated = cpu::gated_forward(&problem, wider_x, gate(wider_second), affine, true);
        assert!(dense == gated.unwrap());
        let rstd = &dense.rstd.unwrap();
        let run = |dy, x, second| {
            cpu::gated_backward(&problem, dy, x, gate(second), rstd, affine, ALL_GATED).unwrap()
        };
        assert!(run(dy, x, second) == run(wider_dy, wider_x, wider_second));
    }
}

#[test]
fn sums_whose_squares_overflow_or_vanish_are_normalised_too() {
    for magnitude in [1e-30_f32, 1e-22, 1.0, 1e19, 1e30] {
        let problem = Problem::new(1, 3, 3, 1e-75).unwrap();
        let x = [magnitude, -magnitude, magnitude];
        let residual = [magnitude, -3.0 * magnitude, 0.0];
        let open = [100.0_f32; 3];
        let rows = |row| Rows::dense(row, 3);
        let added = cpu::add_forward(&problem, rows(&x), rows(&residual), Affine::None, false);
        let rms = (21.0_f32 / 3.0).sqrt();
        for (y, expected) in added.unwrap().y.iter().zip([2.0, -4.0, 1.0]) {
            assert!((y - expected / rms).abs() < 1e-6, "{magnitude:e}: {y}");
        }
        for order in ORDERS {
            let gate = Gate {
                rows: rows(&open),
                order,
            };
            let y = cpu::gated_forward(&problem, rows(&x), gate, Affine::None, false)
                .unwrap()
                .y;
            let open = if order == GateOrder::AfterNorm {
                100.0
            } else {
                1.0
            };
            for (y, x) in y.iter().zip([1.0, -1.0, 1.0]) {
                assert!((y / open - x).abs() < 1e-6, "{magnitude:e}: {y}");
            }
        }
    }
}

#[test]
fn what_is_not_finite_stays_in_its_row() {
    let problem = Problem::new(3, 40, 40, 1e-5).unwrap();
    let data = Data::<f32>::new(&problem, gate_value);
    fn dense(rows: &[f32]) -> Rows<'_, f32> {
        Rows::dense(rows, 40)
    }
    for bad in [f32::NAN, f32::INFINITY] {
        let mut second = data.second.clone();
        second[60] = bad;
        let added = cpu::add_forward(&problem, dense(&data.x), dense(&second), Affine::None, true);
        let mut ys = vec![added.unwrap().y];
        for order in ORDERS {
            let rows = dense(&second);
            let gate = Gate { rows, order };
            let gated = cpu::gated_forward(&problem, dense(&data.x), gate, Affine::None, false);
            ys.push(gated.unwrap().y);
        }
        for y in ys {
            assert!(y[..40].iter().chain(&y[80..]).all(|y| y.is_finite()));
            assert!(y[60].is_nan() || y[60].is_infinite(), "{bad}: {}", y[60]);
        }
    }
}

#[test]
fn no_rows_give_no_values_and_zero_sums() {
    let problem = Problem::new(0, 3, 3, 1e-5)
        .and_then(|p| p.with_gamma_rows(2))
        .unwrap();
    let none = Rows::<f32>::dense(&[], 3);
    let (gamma, beta) = ([1.0; 6], [0.0; 6]);
    let affine = Affine::ScaleShift {
        gamma: &gamma,
        beta: &beta,
    };
    let added = cpu::add_forward(&problem, none, none, affine, true).unwrap();
    assert_eq!(
        (added.y, added.sum, added.rstd),
        (vec![], vec![], Some(vec![]))
    );
    for order in ORDERS {
        let gate = Gate { rows: none, order };
        let gated = cpu::gated_forward(&problem, none, gate, affine, true).unwrap();
        assert_eq!((gated.y, gated.rstd), (vec![], Some(vec![])));
        let found =
            cpu::gated_backward(&problem, none, none, gate, &[], affine, ALL_GATED).unwrap();
        assert_eq!((found.dx, found.dgate), (Some(vec![]), Some(vec![])));
        assert_eq!(
            (found.dgamma, found.dbeta),
            (Some(vec![0.0; 6]), Some(vec![0.0; 6]))
        );
    }
    let plain = cpu::backward(&problem, none, none, &[], Some(&gamma), ALL).unwrap();
    assert_eq!(plain.dgamma, Some(vec![0.0; 6]));
}

#[test]
fn buffers_that_do_not_fit_are_refused_by_name() {
    let problem = Problem::new(4, 3, 3, 1e-5)
        .and_then(|p| p.with_gamma_rows(2))
        .unwrap();
    let length = |buffer, expected, found| {
        Some(Error::Length {
            buffer,
            expected,
            found,
        })
    };
    let data = [0.0_f32; 12];
    let (rows, short) = (Rows::dense(&data, 3), Rows::dense(&data[..11], 3));
    let (gamma, beta) = (&data[..6], &data[..6]);
    let affine = Affine::ScaleShift { gamma, beta };
    let no_gamma_rows = Affine::Scale { gamma: &data[..3] };

    let plain = cpu::forward(&problem, rows, no_gamma_rows).err();
    assert_eq!(plain, length("gamma", 6, 3));
    let add = |x, residual, affine| cpu::add_forward(&problem, x, residual, affine, true).err();
    assert_eq!(add(short, rows, affine), length("x", 12, 11));
    assert_eq!(add(rows, short, affine), length("residual", 12, 11));
    assert_eq!(add(rows, rows, no_gamma_rows), length("gamma", 6, 3));

    let order = GateOrder::AfterNorm;
    let gate = |rows| Gate { rows, order };
    let gated =
        |x, second, affine| cpu::gated_forward(&problem, x, gate(second), affine, true).err();
    assert_eq!(gated(short, rows, affine), length("x", 12, 11));
    assert_eq!(gated(rows, short, affine), length("gate", 12, 11));
    assert_eq!(gated(rows, rows, no_gamma_rows), length("gamma", 6, 3));

    let backward = |dy, x, second, rstd, affine| {
        cpu::gated_backward(&problem, dy, x, gate(second), rstd, affine, ALL_GATED).err()
    };
    let rstd = &data[..4];
    assert_eq!(
        backward(short, rows, rows, rstd, affine),
        length("dy", 12, 11)
    );
    assert_eq!(
        backward(rows, short, rows, rstd, affine),
        length("x", 12, 11)
    );
    assert_eq!(
        backward(rows, rows, short, rstd, affine),
        length("gate", 12, 11)
    );
    assert_eq!(
        backward(rows, rows, rows, &data[..3], affine),
        length("rstd", 4, 3)
    );
    let only_gamma = Affine::Scale { gamma };
    for (affine, missing) in [(Affine::None, "gamma"), (only_gamma, "beta")] {
        let missing = Some(Error::MissingParameter(missing));
        assert_eq!(backward(rows, rows, rows, rstd, affine), missing);
    }
}

/// All that the variants return on so many threads.
fn on_threads(threads: usize, problem: Problem) -> Vec<Vec<f32>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build().unwrap().install(|| {
        let n = problem.row_len();
        let data = Data::<f32>::new(&problem, gate_value);
        let affine = data.all_affine();
        let [x, second, dy] = [&data.x, &data.second, &data.dy].map(|rows| Rows::dense(rows, n));
        let added = cpu::add_forward(&problem, x, second, affine, true).unwrap();
        let rstd = added.rstd.unwrap();
        let gradients = cpu::backward(&problem, dy, x, &rstd, Some(&data.gamma), ALL).unwrap();
        let mut all = vec![added.y, added.sum, rstd];
        all.extend([gradients.dx, gradients.dgamma, gradients.dbeta].map(Option::unwrap));
        for order in ORDERS {
            let gate = Gate {
                rows: second,
                order,
            };
            let forward = cpu::gated_forward(&problem, x, gate, affine, true).unwrap();
            let rstd = forward.rstd.unwrap();
            let found = cpu::gated_backward(&problem, dy, x, gate, &rstd, affine, ALL_GATED);
            let found = found.unwrap();
            all.extend([forward.y, rstd]);
            let gradients = [found.dx, found.dgate, found.dgamma, found.dbeta];
            all.extend(gradients.map(Option::unwrap));
        }
        all
    })
}

#[test]
fn threads_do_not_change_a_bit() {
    for (rows, row_len, gamma_rows) in [(30, 65, 5), (1200, 257, 4), (1100, 129, 1100)] {
        let problem = Problem::new(rows, row_len, row_len, 1e-5)
            .and_then(|problem| problem.with_gamma_rows(gamma_rows))
            .unwrap();
        let one = on_threads(1, problem);
        for threads in [2, 3, 8] {
            assert!(
                one == on_threads(threads, problem),
                "{rows} rows on {threads} threads"
            );
        }
    }
}
