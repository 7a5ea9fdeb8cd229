//! Are the gradients of every variant those of its forward pass? Central differences of whole cases
//! in `f64`, and a few numbers worked out by other means.

use super::sum::sum;
use super::*;
use crate::case::{AffineForm, Case, Fill, GammaForm, GateOrder, Inputs, Variant};
use crate::kind::FloatKind;
use crate::patterns::{b, p, q, r};

/// Gradient of `loss` with respect to `at`.
fn differences(at: &[f64], loss: impl Fn(Vec<f64>) -> f64) -> Vec<f64> {
    let step = 1e-4;
    (0..at.len())
        .map(|index| {
            let moved = |by: f64| {
                let mut values = at.to_vec();
                values[index] += by;
                loss(values)
            };
            // Five-point stencil: the error is of fourth order in the step.
            (8.0 * (moved(step) - moved(-step)) - (moved(2.0 * step) - moved(-2.0 * step)))
                / (12.0 * step)
        })
        .collect()
}

fn close(what: &str, got: &Exact, want: &[f64]) {
    assert_eq!(got.values.len(), want.len(), "{what}");
    let scale = want.iter().fold(1e-300_f64, |most, v| most.max(v.abs()));
    for (index, (got, want)) in got.values.iter().zip(want).enumerate() {
        assert!(
            (got - want).abs() <= 1e-8 * scale,
            "{what}[{index}]: {got}, expected {want}"
        );
    }
    let below = |(value, magnitude): (&f64, &f64)| value.abs() <= magnitude * (1.0 + 1e-12);
    assert!(
        got.values.iter().zip(&got.magnitudes).all(below),
        "{what}: a magnitude is less than the value"
    );
}

/// `Σ dy · y + Σ dsum · sum`.
fn loss(case: &Case) -> f64 {
    let exact = case.forward();
    let product = |values: &[f64], by: &[f64]| sum(values.iter().zip(by).map(|(a, b)| a * b));
    let through_sum = match (exact.sum, case.dsum()) {
        (Some(sum), Some(dsum)) => product(&sum.values, &dsum),
        _ => 0.0,
    };
    product(&exact.y.values, &case.dy()) + through_sum
}

fn check(case: &Case) {
    let what = |name: &str| format!("{name} of {}", case.clone().named().name);
    let exact = case.backward();
    let inputs = case.inputs();
    let with = |change: &dyn Fn(&mut Inputs)| {
        let mut inputs = inputs.clone();
        change(&mut inputs);
        loss(&case.with_inputs("moved", inputs))
    };
    let dx = differences(&inputs.x, |x| with(&|inputs| inputs.x.clone_from(&x)));
    close(&what("dx"), &exact.dx, &dx);
    if let Some(second) = &inputs.second {
        let dsecond = differences(second, |second| {
            with(&|inputs| inputs.second = Some(second.clone()))
        });
        close(&what("dsecond"), exact.dsecond.as_ref().unwrap(), &dsecond);
    }
    if let Some(gamma) = case.gamma() {
        let dgamma = differences(&gamma, |gamma| {
            loss(&case.clone().gamma_fill(Fill::given(gamma)))
        });
        close(&what("dgamma"), &exact.dgamma, &dgamma);
    }
}

#[test]
fn gradients_of_whole_cases_agree_with_central_differences() {
    for variant in Variant::ALL {
        for (index, (shape, axis, form)) in [
            (vec![1], 0, GammaForm::Row),
            (vec![3, 5], 0, GammaForm::Row),
            (vec![2, 1, 7], 0, GammaForm::Row),
            (vec![2, 12], 0, GammaForm::Groups(3)),
            (vec![2, 3, 4], 0, GammaForm::Heads),
            (vec![2, 5, 3], 1, GammaForm::Row),
            (vec![4, 2, 3], 2, GammaForm::Row),
            (vec![2, 3, 2, 2], 2, GammaForm::Row),
        ]
        .into_iter()
        .enumerate()
        {
            for (turn, affine) in AffineForm::ALL.into_iter().enumerate() {
                let case = Case::new("d", FloatKind::F64, &shape)
                    .variant(variant)
                    .axis(axis)
                    .gamma_form(form)
                    .affine(affine)
                    .epsilon(1e-2)
                    .zero_centered((index + turn) % 2 == 1)
                    .partial([None, Some(0.5)][(index + turn / 2) % 2])
                    .dsum_fill((turn != 1).then_some(Fill::B));
                check(&case);
            }
        }
    }
}

/// Beta's values are fixed in a case; here they move.
#[test]
fn dbeta_agrees_with_central_differences() {
    let (x, dy, gate): (Vec<f64>, Vec<f64>, Vec<f64>) = (
        (0..24).map(p).collect(),
        (0..24).map(q).collect(),
        (0..24).map(r).collect(),
    );
    let beta: Vec<f64> = (0..8).map(b).collect();
    let gamma: Vec<f64> = beta.iter().map(|beta| 1.0 + beta / 3.0).collect();
    let problem = Problem {
        row_len: 4,
        stat_len: 3,
        epsilon: 1e-2,
        gamma: Some(&gamma),
        beta: Some(&beta),
    };
    let product = |y: Exact| sum(y.values.iter().zip(&dy).map(|(y, dy)| y * dy));
    let want = differences(&beta, |beta| {
        let problem = Problem {
            beta: Some(&beta),
            ..problem
        };
        product(forward(&x, &problem).y)
    });
    close("dbeta", &backward(&x, &dy, &problem).dbeta, &want);
    for order in [GateOrder::AfterNorm, GateOrder::BeforeNorm] {
        let gate = Gate {
            values: &gate,
            order,
            statistic: FloatKind::F64,
        };
        let want = differences(&beta, |beta| {
            let problem = Problem {
                beta: Some(&beta),
                ..problem
            };
            product(gated_forward(&x, gate, &problem).y)
        });
        let got = gated_backward(&x, gate, &dy, &problem).dbeta;
        close(&format!("dbeta {order:?}"), &got, &want);
    }
}

#[test]
fn silu_by_hand() {
    // 1 / (1 + e^-1) = 0.7310585786300049.
    assert_eq!(silu(0.0), 0.0);
    assert_eq!(silu_slope(0.0), 0.5);
    assert!((silu(1.0) - 0.7310585786300049).abs() < 1e-16);
    assert!((silu(-1.0) + 0.2689414213699951).abs() < 1e-16);
    assert!((silu_slope(1.0) - 0.9276705118714867).abs() < 1e-15);
    // The slope's only zero.
    assert!(silu_slope(-1.278_464_542_761_074).abs() < 1e-16);
    assert_eq!((silu(90.0), silu_slope(90.0)), (90.0, 1.0));
    let e90 = (-90.0_f64).exp();
    assert!((silu(-90.0) / (-90.0 * e90) - 1.0).abs() < 1e-15);
    assert!((silu_slope(-90.0) / (-89.0 * e90) - 1.0).abs() < 1e-15);
}

/// The gradients of a 16-bit sum read what was stored of it, and the statistic of what was not.
#[test]
fn gradients_of_a_sum_read_it_rounded() {
    let case = Case::new("sum", FloatKind::BF16, &[1, 3])
        .variant(Variant::Add)
        .fill(Fill::given(vec![1.0, 2.0, -3.0]))
        .second_fill(Fill::given(vec![1.0 / 512.0, 3.0 / 512.0, 0.25]))
        .dy_fill(Fill::given(vec![1.0, -2.0, 0.5]));
    let (u, sum) = (
        [1.0 + 1.0 / 512.0, 2.0 + 3.0 / 512.0, -2.75],
        [1.0, 2.0, -2.75],
    );
    let exact = case.forward();
    assert_eq!(exact.sum.unwrap().values, u);
    let epsilon = f64::from(1e-5_f32);
    let rstd = 1.0 / (u.iter().map(|u| u * u).sum::<f64>() / 3.0 + epsilon).sqrt();
    let c = sum[0] - 2.0 * sum[1] + 0.5 * sum[2];
    let dy = [1.0, -2.0, 0.5];
    for j in 0..3 {
        let y = exact.y.values[j];
        assert!((y - u[j] * rstd).abs() < 1e-15, "{y}");
        let dx = case.backward().dx.values[j];
        let want = rstd * dy[j] - rstd.powi(3) / 3.0 * c * sum[j];
        assert!((dx - want).abs() < 1e-14, "{dx}, expected {want}");
    }
}

/// Groups, heads and inner axes are the plain operation on other rows.
#[test]
fn arrangements_are_the_plain_operation_on_other_rows() {
    let new = |shape: &[usize]| Case::new("a", FloatKind::F64, shape).affine(AffineForm::Scale);
    let groups = new(&[2, 12]).gamma_form(GammaForm::Groups(3));
    let heads = new(&[2, 3, 4]).gamma_form(GammaForm::Heads);
    assert_eq!(groups.forward().y, heads.forward().y);
    assert_eq!(groups.backward().dgamma, heads.backward().dgamma);
    for (row, rstd) in groups.forward().rstd.into_iter().enumerate() {
        let x = &groups.x()[row * 4..(row + 1) * 4];
        let y = &groups.forward().y.values[row * 4..(row + 1) * 4];
        let first = row % 3 * 4;
        for j in 0..4 {
            let want = x[j] * rstd * crate::patterns::g(first + j);
            assert!((y[j] - want).abs() < 1e-15);
        }
    }

    let inner = new(&[2, 4, 3]).axis(1);
    let (x, y) = (inner.x(), inner.forward().y.values);
    for (row, rstd) in inner.forward().rstd.into_iter().enumerate() {
        let start = row / 3 * 12 + row % 3;
        let squares: f64 = (0..4).map(|j| x[start + 3 * j].powi(2)).sum();
        assert!((rstd - 1.0 / (squares / 4.0 + 1e-5).sqrt()).abs() < 1e-14);
        for j in 0..4 {
            let want = x[start + 3 * j] * rstd * crate::patterns::g(j);
            assert!((y[start + 3 * j] - want).abs() < 1e-15);
            assert_eq!(inner.row_and_column(start + 3 * j), (row, j));
        }
    }
}
