//! The backward pass: checks, output buffers, at most two launches.

use cubecl::client::Client;
use cubecl::server::Handle;

use super::buffers::check_len;
use super::forward::blueprint;
use super::launch;
use super::plan::Plan;
use super::types::{checked_address_type, statistic_type};
use super::{Affine, Form, Gate, Mapping, OperandKind, Parameter, Pass, Rows};
use crate::{Error, Problem};

/// Which gradients are to be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wanted {
    /// The gradient of x.
    pub dx: bool,
    /// The gradient of the gate.
    pub dgate: bool,
    /// The gradient of gamma.
    pub dgamma: bool,
    /// The gradient of beta.
    pub dbeta: bool,
}

impl Wanted {
    pub(super) fn any(&self) -> bool {
        self.dx || self.dgate || self.dgamma || self.dbeta
    }
}

/// What a backward pass reads, and how it is to run.
#[derive(Debug, Clone)]
pub struct Backward {
    /// The gradient of y, of x's type.
    pub dy: Rows,
    /// The rows that were normalised; with a residual, the rounded sum.
    pub x: Rows,
    /// The gate, if there was one.
    pub gate: Option<Gate>,
    /// Every row's rstd, in the statistic's type.
    pub rstd: Handle,
    /// gamma and beta. Of beta, only the type is used, unless it takes part in the gradient of a gate.
    pub affine: Affine,
    /// The gradients to compute.
    pub wanted: Wanted,
    /// How rows are mapped to the device; by default, as [`select`](super::select()) chooses.
    pub mapping: Mapping,
}

/// The gradients that were wanted.
#[derive(Debug, Clone, Default)]
pub struct Gradients {
    /// Dense rows of x's type; side by side where x's are.
    pub dx: Option<Handle>,
    /// Dense rows of x's type.
    pub dgate: Option<Handle>,
    /// One value a column, in as many rows as gamma has, of gamma's type.
    pub dgamma: Option<Handle>,
    /// One value a column, in as many rows as beta has, of beta's type.
    pub dbeta: Option<Handle>,
}

/// The wanted gradients:
///
/// ```text
/// a_j  = dy_j · gamma_j        c = Σ_j a_j · x_j
/// dx_j = rstd · (a_j − [j < stat_len] · (x_j·rstd) · ((c·rstd)/stat_len))
/// dgamma_j = Σ_rows dy_j · x_j·rstd        dbeta_j = Σ_rows dy_j
/// ```
///
/// A gate is `s(v) = v·σ(v)`, with `s'(v) = σ(v)·(1 + v·σ(−v))`. Behind the normalisation,
/// `dy·s(gate)` takes the part of dy in these formulas, and
///
/// ```text
/// dgate_j = dy_j · (x_j·rstd·gamma_j + beta_j) · s'(gate_j)
/// ```
///
/// Before it, `u = x·s(gate)` takes the part of x, and, with the du that they give for it,
///
/// ```text
/// dx_j = du_j · s(gate_j)        dgate_j = du_j · x_j · s'(gate_j)
/// ```
///
/// Where the factor is `1 + gamma`, it is so here as well; where a row is rounded on its way to y does
/// not count.
///
/// # Errors
///
/// As [`forward`](super::forward()); also if a gradient is wanted of a parameter or a gate that is not
/// there.
pub fn backward(client: &Client, problem: &Problem, args: Backward) -> Result<Gradients, Error> {
    let (x, wanted) = (&args.x, args.wanted);
    x.check(client, "x", problem)?;
    args.dy.check_as(client, "dy", problem, x.elem)?;
    if let Some(gate) = &args.gate {
        gate.rows.check_as(client, "gate", problem, x.elem)?;
    } else if wanted.dgate {
        return Err(Error::MissingParameter("gate"));
    }
    args.affine.check(client, problem)?;
    let statistic = statistic_type(x.elem);
    check_len(client, "rstd", &args.rstd, statistic, problem.rows())?;
    let (gamma, beta) = args.affine.parameters();
    let dgamma = wanted_parameter(client, problem, "gamma", wanted.dgamma, gamma)?;
    let dbeta = wanted_parameter(client, problem, "beta", wanted.dbeta, beta)?;
    let pass = Pass::Backward;
    let operand = match &args.gate {
        None => OperandKind::None,
        Some(gate) => OperandKind::Gate(gate.order),
    };
    let form = Form::of(problem, operand, gamma.is_some(), x.elem, pass);
    let limits = args.mapping.limits_on(client);
    let blueprint = blueprint(problem, x, &form, &args.mapping, pass, &limits)?;
    let plan = Plan::new(problem, blueprint, form, statistic, &limits);
    let gate_span = args.gate.as_ref().map_or(0, |gate| gate.rows.span(problem));
    let spans = x.span(problem).max(args.dy.span(problem)).max(gate_span);
    let parameters = plan.index_bound(problem).max(problem.gamma_len());
    let address = checked_address_type(client, spans.max(problem.elements()).max(parameters))?;

    let dense = || client.empty(problem.elements() * x.elem.size());
    let gradients = Gradients {
        dx: wanted.dx.then(dense),
        dgate: wanted.dgate.then(dense),
        dgamma,
        dbeta,
    };
    if wanted.any() {
        launch::backward(client, problem, &plan, address, args, gradients.clone());
    }
    Ok(gradients)
}

/// The buffer of a parameter's gradient, if it is wanted.
pub(super) fn wanted_parameter(
    client: &Client,
    problem: &Problem,
    name: &'static str,
    wanted: bool,
    parameter: Option<&Parameter>,
) -> Result<Option<Handle>, Error> {
    match (wanted, parameter) {
        (false, _) => Ok(None),
        (true, None) => Err(Error::MissingParameter(name)),
        (true, Some(parameter)) => Ok(Some(
            client.empty(problem.gamma_len() * parameter.elem.size()),
        )),
    }
}
