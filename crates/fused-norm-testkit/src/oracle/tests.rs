//! Is the oracle itself right? Central differences, closed forms and hand-worked values.

use super::*;
use crate::patterns::{b, g, p, q};

fn close(got: &[f64], want: &[f64], relative: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let scale = want
        .iter()
        .fold(1e-300_f64, |most, value| most.max(value.abs()));
    for (index, (got, want)) in got.iter().zip(want).enumerate() {
        assert!(
            (got - want).abs() <= relative * scale,
            "{what}[{index}]: {got}, expected {want}"
        );
    }
}

/// `Σ dy · y`, the scalar whose gradients are dx, dgamma and dbeta.
fn loss(x: &[f64], dy: &[f64], problem: &Problem<'_>) -> f64 {
    sum(forward(x, problem)
        .y
        .values
        .iter()
        .zip(dy)
        .map(|(y, dy)| y * dy))
}

/// Gradient of `loss` with respect to `at`, by central differences.
fn differences(at: &[f64], loss: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let step = 1e-4;
    (0..at.len())
        .map(|index| {
            let moved = |by: f64| {
                let mut values = at.to_vec();
                values[index] += by;
                loss(&values)
            };
            // Five-point stencil: the error is of fourth order in the step.
            (8.0 * (moved(step) - moved(-step)) - (moved(2.0 * step) - moved(-2.0 * step)))
                / (12.0 * step)
        })
        .collect()
}

#[test]
fn gradients_agree_with_central_differences() {
    for (rows, row_len) in [(1, 1), (3, 2), (2, 7), (4, 8), (2, 17), (3, 33)] {
        let x: Vec<f64> = (0..rows * row_len).map(p).collect();
        let dy: Vec<f64> = (0..rows * row_len).map(q).collect();
        let gamma: Vec<f64> = (0..row_len).map(g).collect();
        let beta: Vec<f64> = (0..row_len).map(b).collect();
        for stat_len in 1..=row_len {
            for (gamma, beta) in [
                (None, None),
                (Some(&gamma), None),
                (Some(&gamma), Some(&beta)),
            ] {
                let epsilon = 1e-2;
                let problem = Problem {
                    row_len,
                    stat_len,
                    epsilon,
                    gamma: gamma.map(Vec::as_slice),
                    beta: beta.map(Vec::as_slice),
                };
                let what = format!("{rows}x{row_len} k {stat_len}");
                let got = backward(&x, &dy, &problem);
                let want = differences(&x, |x| loss(x, &dy, &problem));
                close(&got.dx.values, &want, 1e-8, &format!("dx {what}"));

                let ones = vec![1.0; row_len];
                let zeros = vec![0.0; row_len];
                let at = gamma.unwrap_or(&ones);
                let want = differences(at, |gamma| {
                    loss(
                        &x,
                        &dy,
                        &Problem {
                            gamma: Some(gamma),
                            ..problem
                        },
                    )
                });
                close(&got.dgamma.values, &want, 1e-8, &format!("dgamma {what}"));
                let at = beta.unwrap_or(&zeros);
                let want = differences(at, |beta| {
                    loss(
                        &x,
                        &dy,
                        &Problem {
                            beta: Some(beta),
                            ..problem
                        },
                    )
                });
                close(&got.dbeta.values, &want, 1e-8, &format!("dbeta {what}"));
            }
        }
    }
}

#[test]
fn ramp_agrees_with_its_closed_form() {
    for row_len in [1_usize, 2, 5, 33, 1025, 65537] {
        let rows = 3;
        let n = row_len as f64;
        let ramp: Vec<f64> = (1..=row_len).map(|j| j as f64).collect();
        let x = ramp.repeat(rows);
        // Scaling the ramp by 2^20 makes epsilon vanish below the precision of f64.
        let scale = (1 << 20) as f64;
        let x: Vec<f64> = x.iter().map(|x| x * scale).collect();
        let problem = Problem {
            row_len,
            stat_len: row_len,
            epsilon: 1e-8,
            gamma: None,
            beta: None,
        };
        let r = (6.0 / ((n + 1.0) * (2.0 * n + 1.0))).sqrt();
        let y: Vec<f64> = ramp.iter().map(|j| r * j).collect();
        close(&forward(&x, &problem).y.values, &y.repeat(rows), 1e-15, "y");

        let got = backward(&x, &vec![1.0; x.len()], &problem);
        let magnitudes = got
            .dx
            .magnitudes
            .iter()
            .fold(0.0_f64, |most, value| most.max(*value));
        for (index, got) in got.dx.values.iter().enumerate() {
            let j = (index % row_len + 1) as f64;
            let want = r / scale * (1.0 - 3.0 * j / (2.0 * n + 1.0));
            assert!(
                (got - want).abs() <= 2e-15 * magnitudes,
                "dx[{index}] {got}, expected {want}"
            );
        }
        let dgamma: Vec<f64> = ramp.iter().map(|j| rows as f64 * r * j).collect();
        close(&got.dgamma.values, &dgamma, 1e-15, "dgamma");
        close(&got.dbeta.values, &vec![rows as f64; row_len], 0.0, "dbeta");
    }
}

#[test]
fn partial_statistic_by_hand() {
    let gamma = [1.0, 2.0, 3.0, 4.0];
    let problem = Problem {
        row_len: 4,
        stat_len: 2,
        epsilon: 1e-6,
        gamma: Some(&gamma),
        beta: None,
    };
    let x = [3.0, 4.0, 5.0, 6.0];
    let y = forward(&x, &problem).y.values;
    close(&y, &[0.8485281, 2.2627416, 4.2426405, 6.7882248], 1e-7, "y");
    let got = backward(&x, &[1.0, -1.0, 2.0, 1.0], &problem);
    close(
        &got.dx.values,
        &[-1.3802722, -2.7831720, 1.6970562, 1.1313708],
        1e-7,
        "dx",
    );
    close(
        &got.dgamma.values,
        &[0.8485281, -1.1313708, 2.8284270, 1.6970562],
        1e-7,
        "dgamma",
    );
}

#[test]
fn zero_row_is_finite() {
    let gamma = [1.0, 2.0, 3.0, 4.0];
    let problem = Problem {
        row_len: 4,
        stat_len: 4,
        epsilon: 1e-6,
        gamma: Some(&gamma),
        beta: None,
    };
    assert_eq!(forward(&[0.0; 4], &problem).y.values, [0.0; 4]);
    let got = backward(&[0.0; 4], &[1.0, 1.0, 1.0, -1.0], &problem);
    close(&got.dx.values, &[1e3, 2e3, 3e3, -4e3], 1e-15, "dx");
    assert_eq!(got.dgamma.values, [0.0; 4]);
}

#[test]
fn infinity_and_nan_stay_in_their_row() {
    let problem = Problem {
        row_len: 4,
        stat_len: 4,
        epsilon: 1e-5,
        gamma: None,
        beta: None,
    };
    let x = [
        0.0,
        f64::INFINITY,
        1.0,
        -1.0,
        1.0,
        1.0,
        1.0,
        1.0,
        f64::NAN,
        0.0,
        0.0,
        0.0,
    ];
    let y = forward(&x, &problem).y.values;
    assert_eq!((y[0], y[2], y[3]), (0.0, 0.0, 0.0));
    assert!(y[1].is_nan() && y[8..].iter().all(|y| y.is_nan()));
    close(&y[4..8], &[0.999_995; 4], 1e-9, "the row between");
}

#[test]
fn no_rows_give_zero_parameter_gradients() {
    let problem = Problem {
        row_len: 3,
        stat_len: 3,
        epsilon: 1e-5,
        gamma: None,
        beta: None,
    };
    assert!(forward(&[], &problem).y.values.is_empty());
    let got = backward(&[], &[], &problem);
    assert!(got.dx.values.is_empty());
    assert_eq!(
        (got.dgamma.values, got.dbeta.values),
        (vec![0.0; 3], vec![0.0; 3])
    );
}
