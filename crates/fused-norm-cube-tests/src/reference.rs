//! What the kernels are compared with where the judge's catalogue has no case: its oracle, and its
//! tolerance for every element.

use fused_norm_kernels::cube::OperandKind;
use fused_norm_kernels::{GateOrder, Problem, Rounding};
use fused_norm_testkit::oracle::{self, Backward, Exact, Forward};
use fused_norm_testkit::{FloatKind, Tolerance, case, tolerance};

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

/// The kinds of x, gamma and beta.
#[derive(Debug, Clone, Copy)]
pub struct Kinds {
    /// Of the rows.
    pub x: FloatKind,
    /// Of the scale.
    pub gamma: FloatKind,
    /// Of the shift.
    pub beta: FloatKind,
}

impl Kinds {
    /// The kind of the statistic.
    pub fn statistic(&self) -> FloatKind {
        self.x.statistic()
    }
}

/// Values, and between which each may be.
#[derive(Debug, Clone, Default)]
pub struct Bounds(Vec<[f64; 3]>);

impl Bounds {
    fn new(exact: Exact, tolerance: &Tolerance) -> Self {
        let round = |value| tolerance.output.round(value);
        let each = exact.values.into_iter().zip(exact.magnitudes);
        let bounds = each.map(|(want, magnitude)| {
            let slack = tolerance.slack(magnitude);
            [round(want - slack), want, round(want + slack)]
        });
        Self(bounds.collect())
    }

    /// What is wrong with values, if anything.
    pub fn wrong(&self, what: &str, got: &[f64]) -> Option<String> {
        if got.len() != self.0.len() {
            return Some(format!("{what}: {} values of {}", got.len(), self.0.len()));
        }
        let wrong = |got: f64, low: f64, high: f64| !(low <= got && got <= high);
        let at = (0..got.len()).find(|&at| wrong(got[at], self.0[at][0], self.0[at][2]))?;
        let [low, want, high] = self.0[at];
        let got = got[at];
        Some(format!(
            "{what}: {got:e} at {at}, expected {want:e}, {low:e} to {high:e}"
        ))
    }
}

/// What both passes give.
#[derive(Debug, Clone)]
pub struct Reference {
    /// The normalised rows.
    pub y: Bounds,
    /// `x + residual`.
    pub sum: Bounds,
    /// One value a row.
    pub rstd: Bounds,
    /// The gradient of x; of the sum where there is a residual.
    pub dx: Bounds,
    /// The gradient of the gate.
    pub dgate: Bounds,
    /// As long as gamma.
    pub dgamma: Bounds,
    /// As long as beta.
    pub dbeta: Bounds,
}

/// Both passes over rows of these kinds.
pub fn reference(
    problem: &Problem,
    operand: OperandKind,
    kinds: Kinds,
    inputs: &Inputs,
) -> Reference {
    let (n, k) = (problem.row_len(), problem.stat_len());
    let factors = inputs.gamma.as_ref().map(|gamma| factors(problem, gamma));
    let exact = oracle::Problem {
        row_len: n,
        stat_len: k,
        epsilon: problem.epsilon(),
        gamma: factors.as_deref(),
        beta: inputs.beta.as_deref(),
    };
    let (forward, backward) = passes(operand, kinds, inputs, &exact);
    let of = |exact, kind, summed| Bounds::new(exact, &tolerance(kind, kinds.statistic(), summed));
    let each_step = problem.rounding() == Rounding::BeforeGamma
        && kinds.x != kinds.statistic()
        && inputs.gamma.is_some()
        && !matches!(operand, OperandKind::Gate(_));
    let y = match factors.as_ref().filter(|_| each_step) {
        Some(factors) => {
            let plain = oracle::Problem {
                gamma: None,
                beta: None,
                ..exact
            };
            let normalised = passes(operand, kinds, inputs, &plain).0.y;
            in_steps(normalised, kinds, k, factors, inputs.beta.as_deref())
        }
        None => of(forward.y, kinds.x, k),
    };
    // One addition, rounded to its nearest.
    let nearest = Tolerance {
        relative: 0.0,
        ..tolerance(kinds.x, kinds.statistic(), 0)
    };
    let rows = problem.rows() / problem.gamma_rows();
    let rstd = Exact {
        magnitudes: forward.rstd.clone(),
        values: forward.rstd,
    };
    Reference {
        y,
        sum: Bounds::new(forward.sum.unwrap_or_default(), &nearest),
        rstd: of(rstd, kinds.statistic(), k),
        dx: of(backward.dx, kinds.x, n),
        dgate: of(backward.dsecond.unwrap_or_default(), kinds.x, n),
        dgamma: of(backward.dgamma, kinds.gamma, rows.max(k)),
        dbeta: of(backward.dbeta, kinds.beta, rows),
    }
}

fn factors(problem: &Problem, gamma: &[f64]) -> Vec<f64> {
    let centre = match problem.zero_centered() {
        true => 1.0,
        false => 0.0,
    };
    gamma.iter().map(|gamma| centre + gamma).collect()
}

fn passes(
    operand: OperandKind,
    kinds: Kinds,
    inputs: &Inputs,
    exact: &oracle::Problem<'_>,
) -> (Forward, Backward) {
    let (x, dy, second) = (&inputs.x, &inputs.dy, &inputs.second);
    match operand {
        OperandKind::None => (oracle::forward(x, exact), oracle::backward(x, dy, exact)),
        OperandKind::Residual => {
            let sums: Vec<f64> = x.iter().zip(second).map(|(x, by)| x + by).collect();
            let mut forward = oracle::forward(&sums, exact);
            // What the backward pass reads.
            let kept: Vec<f64> = sums.iter().map(|&sum| kinds.x.round(sum)).collect();
            let backward = oracle::backward_with_rstd(&kept, &forward.rstd, dy, exact);
            forward.sum = Some(Exact {
                magnitudes: sums.iter().map(|sum| sum.abs()).collect(),
                values: sums,
            });
            (forward, backward)
        }
        OperandKind::Gate(order) => {
            let gate = oracle::Gate {
                values: second,
                order: match order {
                    GateOrder::AfterNorm => case::GateOrder::AfterNorm,
                    GateOrder::BeforeNorm => case::GateOrder::BeforeNorm,
                },
                statistic: kinds.statistic(),
            };
            (
                oracle::gated_forward(x, gate, exact),
                oracle::gated_backward(x, gate, dy, exact),
            )
        }
    }
}

/// y where it is rounded after every step: `x·rstd` is right within the tolerance, and every later step
/// is monotone in what it is given. The factor may go through the statistic's kind.
fn in_steps(
    normalised: Exact,
    kinds: Kinds,
    stat_len: usize,
    factors: &[f64],
    beta: Option<&[f64]>,
) -> Bounds {
    let (kind, statistic) = (kinds.x, kinds.statistic());
    let tolerance = tolerance(kind, statistic, stat_len);
    let step = |value: f64| kind.round(statistic.round(value));
    let bounds = |(index, (value, magnitude)): (usize, (f64, f64))| {
        // Row r takes row `r % gamma_rows` of them.
        let column = index % factors.len();
        let factor = factors[column];
        let y = |normalised: f64, factor: f64| {
            let y = step(kind.round(normalised) * factor);
            beta.map_or(y, |beta| step(y + step(beta[column])))
        };
        let slack = tolerance.slack(magnitude);
        let ends = [value - slack, value + slack]
            .map(|end| [kind.round(factor), step(factor)].map(|factor| y(end, factor)))
            .concat();
        let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Hardware may flush a product.
        let smallest = tolerance.absolute;
        [low - smallest, y(value, step(factor)), high + smallest]
    };
    let each = normalised.values.into_iter().zip(normalised.magnitudes);
    Bounds(each.enumerate().map(bounds).collect())
}
