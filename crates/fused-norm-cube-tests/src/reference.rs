//! Every variant of the operation in f64, written as its formulas are: what the kernels are compared
//! with where the judge's catalogue has no case.

use fused_norm_kernels::cube::OperandKind;
use fused_norm_kernels::{GateOrder, Problem, Rounding};
use fused_norm_testkit::FloatKind;

use crate::numbers::{bytes, values};

/// What an operation reads, as the device holds it.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// The rows to normalise.
    pub x: Vec<f64>,
    /// The residual or the gate.
    pub second: Vec<f64>,
    /// The gradient of y.
    pub dy: Vec<f64>,
    /// The scale, or its distance from 1.
    pub gamma: Option<Vec<f64>>,
    /// The shift.
    pub beta: Option<Vec<f64>>,
}

/// What both passes give, not rounded but where the operation says so.
#[derive(Debug, Clone, Default)]
pub struct Reference {
    /// The normalised rows.
    pub y: Vec<f64>,
    /// `x + residual`.
    pub sum: Vec<f64>,
    /// One value a row.
    pub rstd: Vec<f64>,
    /// The gradient of x; of the sum where there is a residual.
    pub dx: Vec<f64>,
    /// The gradient of the gate.
    pub dgate: Vec<f64>,
    /// As long as gamma.
    pub dgamma: Vec<f64>,
    /// As long as beta.
    pub dbeta: Vec<f64>,
    /// The largest sum of the absolute values of the terms of dgamma, and of dbeta.
    pub terms: [f64; 2],
}

/// The numbers that this kind has nearest to these.
pub fn rounded(kind: FloatKind, numbers: &[f64]) -> Vec<f64> {
    values(kind, &bytes(kind, numbers))
}

fn sigmoid(v: f64) -> f64 {
    1.0 / (1.0 + (-v).exp())
}

fn silu(v: f64) -> f64 {
    v * sigmoid(v)
}

fn silu_derivative(v: f64) -> f64 {
    sigmoid(v) * (1.0 + v * (1.0 - sigmoid(v)))
}

/// Both passes over rows of `kind`.
pub fn reference(
    problem: &Problem,
    operand: OperandKind,
    kind: FloatKind,
    inputs: &Inputs,
) -> Reference {
    let mut all = Reference {
        dgamma: vec![0.0; problem.gamma_len()],
        dbeta: vec![0.0; problem.gamma_len()],
        ..Reference::default()
    };
    let mut terms = [all.dgamma.clone(), all.dbeta.clone()];
    let row_len = problem.row_len();
    for row in 0..problem.rows() {
        let range = row * row_len..(row + 1) * row_len;
        let second = inputs.second.get(range.clone()).unwrap_or_default();
        let row_inputs = Row {
            x: &inputs.x[range.clone()],
            second,
            dy: &inputs.dy[range],
            gamma_start: row % problem.gamma_rows() * row_len,
        };
        add_row(
            problem,
            operand,
            kind,
            inputs,
            &row_inputs,
            &mut all,
            &mut terms,
        );
    }
    all.terms = terms.map(|terms| terms.into_iter().fold(0.0, f64::max));
    all
}

struct Row<'a> {
    x: &'a [f64],
    second: &'a [f64],
    dy: &'a [f64],
    gamma_start: usize,
}

fn add_row(
    problem: &Problem,
    operand: OperandKind,
    kind: FloatKind,
    inputs: &Inputs,
    row: &Row,
    all: &mut Reference,
    terms: &mut [Vec<f64>; 2],
) {
    let (n, k) = (problem.row_len(), problem.stat_len());
    let parameter = |values: &Option<Vec<f64>>, j: usize, or: f64| {
        values
            .as_ref()
            .map_or(or, |values| values[row.gamma_start + j])
    };
    let factor = |j: usize| match problem.zero_centered() && inputs.gamma.is_some() {
        true => 1.0 + parameter(&inputs.gamma, j, 0.0),
        false => parameter(&inputs.gamma, j, 1.0),
    };
    let beta = |j: usize| parameter(&inputs.beta, j, 0.0);
    let gates_before = operand == OperandKind::Gate(GateOrder::BeforeNorm);
    let gates_after = operand == OperandKind::Gate(GateOrder::AfterNorm);
    let mut u: Vec<f64> = (0..n)
        .map(|j| match operand {
            OperandKind::Residual => row.x[j] + row.second[j],
            _ if gates_before => row.x[j] * silu(row.second[j]),
            _ => row.x[j],
        })
        .collect();
    let mean = u[..k].iter().map(|u| u * u).sum::<f64>() / k as f64;
    let rstd = 1.0 / (mean + problem.epsilon()).sqrt();
    let step = |value: f64| rounded(kind, &[value])[0];
    let each_step = problem.rounding() == Rounding::BeforeGamma
        && inputs.gamma.is_some()
        && !matches!(operand, OperandKind::Gate(_));
    for (j, u) in u.iter().enumerate() {
        let mut y = u * rstd;
        if each_step {
            y = step(y) * step(factor(j));
            if inputs.beta.is_some() {
                y = step(y) + step(beta(j));
            }
        } else {
            y = y * factor(j) + beta(j);
        }
        if gates_after {
            y *= silu(row.second[j]);
        }
        all.y.push(y);
    }
    all.rstd.push(rstd);
    if operand == OperandKind::Residual {
        all.sum.extend(&u);
        u = rounded(kind, &u);
    }

    let dn: Vec<f64> = (0..n)
        .map(|j| match gates_after {
            true => row.dy[j] * silu(row.second[j]),
            false => row.dy[j],
        })
        .collect();
    let c: f64 = (0..n).map(|j| dn[j] * factor(j) * u[j]).sum();
    for j in 0..n {
        let reads = if j < k { 1.0 } else { 0.0 };
        let du = rstd * dn[j] * factor(j) - reads * rstd.powi(3) / k as f64 * c * u[j];
        let column = row.gamma_start + j;
        let [dgamma, dbeta] = [dn[j] * u[j] * rstd, dn[j]];
        all.dgamma[column] += dgamma;
        all.dbeta[column] += dbeta;
        terms[0][column] += dgamma.abs();
        terms[1][column] += dbeta.abs();
        if gates_before {
            all.dx.push(du * silu(row.second[j]));
            all.dgate
                .push(du * row.x[j] * silu_derivative(row.second[j]));
        } else {
            all.dx.push(du);
        }
        if gates_after {
            let normalised = u[j] * rstd * factor(j) + beta(j);
            all.dgate
                .push(row.dy[j] * normalised * silu_derivative(row.second[j]));
        }
    }
}

/// What is wrong with values of a kind, if anything: one is too far off, or, where the kind has 16 bits,
/// fewer than `exact` of them are the correctly rounded ones. `terms` is the size of what they are sums of,
/// if that is larger than they are.
pub fn differences(
    what: &str,
    kind: FloatKind,
    statistic: FloatKind,
    (got, wanted): (&[f64], &[f64]),
    terms: f64,
    exact: f64,
) -> Option<String> {
    if got.len() != wanted.len() {
        return Some(format!("{what}: {} values of {}", got.len(), wanted.len()));
    }
    let ulp = |kind| match kind {
        FloatKind::F64 => f64::EPSILON,
        FloatKind::F32 => f64::from(f32::EPSILON),
        FloatKind::F16 => 2f64.powi(-10),
        FloatKind::BF16 => 2f64.powi(-7),
    };
    let largest = wanted.iter().fold(terms, |most, w| most.max(w.abs()));
    let slack = 40.0 * ulp(statistic) * largest + 1e-30;
    let allowed = |w: f64| {
        // Numbers below f16's normal ones are further apart.
        let smallest = if kind == FloatKind::F16 {
            2f64.powi(-24)
        } else {
            0.0
        };
        w.abs() * ulp(kind).max(8.0 * ulp(statistic)) + slack + smallest
    };
    for (at, (&g, &w)) in got.iter().zip(wanted).enumerate() {
        let off = (g - w).abs();
        if off.is_nan() || off > allowed(w) {
            return Some(format!("{what}: {g} at {at}, expected {w}"));
        }
    }
    let right = rounded(kind, wanted);
    let same = got.iter().zip(&right).filter(|(g, r)| g == r).count();
    let share = same as f64 / got.len().max(1) as f64;
    (kind != statistic && !got.is_empty() && share < exact)
        .then(|| format!("{what}: {share} of {} are correctly rounded", got.len()))
}
