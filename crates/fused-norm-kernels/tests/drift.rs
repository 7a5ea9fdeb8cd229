//! dgamma and dbeta of so many rows that a running sum in f32 would be off by 6e-4 of itself: terms that
//! are all the same err the same way each time.

use fused_norm_kernels::cpu::{self, Affine, Gate, GatedWanted, Interleaved, Rows, Wanted};
use fused_norm_kernels::{GateOrder, Problem};
use fused_norm_testkit::{FloatKind, tolerance};

const ROWS: usize = 1 << 21;
const ROW_LEN: usize = 8;
const DY: [f32; ROW_LEN] = [0.1, -0.2, 0.3, 0.7, -1.1, 1.3, 1.7, 1.9];
const X: [f32; ROW_LEN] = [1.0, 1.1, -1.2, 1.3, 1.4, 1.5, -1.6, 1.7];
const RSTD: f32 = 1.0 / 3.0;
const WANTED: Wanted = Wanted {
    dx: false,
    dgamma: true,
    dbeta: true,
};

/// `count` terms, of which each is dy or `dy·x·rstd`, times what a gate lets through.
fn assert_sums(what: &str, sums: &[f32], count: usize, through: f64, with_x: bool) {
    let tolerance = tolerance(FloatKind::F32, FloatKind::F32, count);
    for (index, &found) in sums.iter().enumerate() {
        let column = index % ROW_LEN;
        let by = match with_x {
            true => f64::from(X[column]) * f64::from(RSTD),
            false => 1.0,
        };
        let exact = f64::from(DY[column]) * by * through * count as f64;
        assert!(
            tolerance.accepts(f64::from(found), exact, exact.abs()),
            "{what} [{index}]: {found}, expected {exact}"
        );
    }
}

/// The same row again and again, for every row of gamma.
#[test]
fn sums_over_many_rows_do_not_drift() {
    let rstd = vec![RSTD; ROWS];
    let (x, dy) = (Rows::with_pitch(&X, 0), Rows::with_pitch(&DY, 0));
    for gamma_rows in [1, 4] {
        let problem = Problem::new(ROWS, ROW_LEN, ROW_LEN, 1e-5)
            .and_then(|problem| problem.with_gamma_rows(gamma_rows))
            .unwrap();
        let gamma = vec![1.0; problem.gamma_len()];
        let found = cpu::backward(&problem, dy, x, &rstd, Some(&gamma), WANTED).unwrap();
        let count = ROWS / gamma_rows;
        assert_sums("dgamma", &found.dgamma.unwrap(), count, 1.0, true);
        assert_sums("dbeta", &found.dbeta.unwrap(), count, 1.0, false);

        let gate = Gate {
            rows: Rows::with_pitch(&[1.0; ROW_LEN], 0),
            order: GateOrder::AfterNorm,
        };
        let affine = Affine::ScaleShift {
            gamma: &gamma,
            beta: &gamma,
        };
        let wanted = GatedWanted {
            dx: false,
            dgate: false,
            dgamma: true,
            dbeta: true,
        };
        let found = cpu::gated_backward(&problem, dy, x, gate, &rstd, affine, wanted).unwrap();
        let silu = 1.0 / (1.0 + (-1.0_f64).exp());
        assert_sums("gated dgamma", &found.dgamma.unwrap(), count, silu, true);
        assert_sums("gated dbeta", &found.dbeta.unwrap(), count, silu, false);
    }
}

#[test]
fn a_sum_that_is_wanted_alone_does_not_drift_either() {
    let rstd = vec![RSTD; ROWS];
    let (x, dy) = (Rows::with_pitch(&X, 0), Rows::with_pitch(&DY, 0));
    let problem = Problem::new(ROWS, ROW_LEN, ROW_LEN, 1e-5).unwrap();
    let gamma = Some(&[1.0; ROW_LEN][..]);
    for dgamma in [true, false] {
        let wanted = Wanted {
            dgamma,
            dbeta: !dgamma,
            ..WANTED
        };
        let found = cpu::backward(&problem, dy, x, &rstd, gamma, wanted).unwrap();
        let alone = found.dgamma.or(found.dbeta).unwrap();
        assert_sums("alone", &alone, ROWS, 1.0, dgamma);
    }
}

#[test]
fn sums_over_many_rows_side_by_side_do_not_drift() {
    let rstd = vec![RSTD; ROWS];
    let problem = Problem::new(ROWS, ROW_LEN, ROW_LEN, 1e-5).unwrap();
    let (x, dy) = (Interleaved::new(&X, 1, 0), Interleaved::new(&DY, 1, 0));
    let gamma = Some(&[1.0; ROW_LEN][..]);
    let found = cpu::interleaved_backward(&problem, dy, x, &rstd, gamma, WANTED).unwrap();
    assert_sums("dgamma", &found.dgamma.unwrap(), ROWS, 1.0, true);
    assert_sums("dbeta", &found.dbeta.unwrap(), ROWS, 1.0, false);
}

/// A task of few rows adds them one after the other.
#[test]
fn sums_over_few_rows_are_running_sums() {
    for rows in [1, 255, 256, 257, 600] {
        let dy: Vec<f32> = (0..rows).map(|row| 0.1 + row as f32 / 7.0).collect();
        let problem = Problem::new(rows, 1, 1, 1e-5).unwrap();
        let (rstd, dense) = (vec![1.0; rows], Rows::dense(&dy, 1));
        let gamma = Some(&[1.0][..]);
        let found = cpu::backward(&problem, dense, dense, &rstd, gamma, WANTED).unwrap();
        let running = |dy: &[f32]| dy.iter().fold(0.0, |sum, dy| sum + dy);
        let spans = dy.chunks(256).map(|dy| f64::from(running(dy)));
        assert_eq!(found.dbeta, Some(vec![spans.sum::<f64>() as f32]), "{rows}");
    }
}
