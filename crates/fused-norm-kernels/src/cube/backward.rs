//! The backward pass: checks, output buffers, at most two launches.

use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::server::Handle;

use super::buffers::check_len;
use super::forward::blueprint;
use super::launch;
use super::types::{checked_address_type, statistic_type};
use super::{Affine, Blueprint, DeviceLimits, Parameter, Pass, Routine, Rows};
use crate::{Error, Problem};

/// Multiprocessors of a device that does not say how many it has.
const PROCESSORS: u32 = 32;
/// Cubes a multiprocessor that walk over the rows of a backward pass, each with a row of partial sums.
const CUBES_A_PROCESSOR: u32 = 2;

/// Which gradients are to be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The gradient of x.
    pub dx: bool,
    /// The gradient of gamma.
    pub dgamma: bool,
    /// The gradient of beta.
    pub dbeta: bool,
}

/// What a backward pass reads, and how it is to run.
#[derive(Debug, Clone)]
pub struct Backward {
    /// The gradient of y, of x's type.
    pub dy: Rows,
    /// The rows that were normalised.
    pub x: Rows,
    /// Every row's rstd, in the statistic's type.
    pub rstd: Handle,
    /// gamma and beta. Of beta, only the type is used.
    pub affine: Affine,
    /// The gradients to compute.
    pub wanted: Wanted,
    /// Take this routine instead of the selected one.
    pub routine: Option<Routine>,
}

/// The gradients that were wanted.
#[derive(Debug, Clone)]
pub struct Gradients {
    /// Dense rows of x's type.
    pub dx: Option<Handle>,
    /// One value a column, of gamma's type.
    pub dgamma: Option<Handle>,
    /// One value a column, of beta's type.
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
/// # Errors
///
/// As [`forward`](super::forward()); also if a gradient is wanted of a parameter that is not there.
pub fn backward(client: &Client, problem: &Problem, args: Backward) -> Result<Gradients, Error> {
    let (x, wanted) = (&args.x, args.wanted);
    x.check(client, "x", problem)?;
    args.dy.check(client, "dy", problem)?;
    args.affine.check(client, problem)?;
    if args.dy.elem != x.elem {
        return Err(Error::Type {
            buffer: "dy",
            elem: args.dy.elem,
        });
    }
    let statistic = statistic_type(x.elem);
    check_len("rstd", &args.rstd, statistic, problem.rows())?;
    let (gamma, beta) = args.affine.parameters();
    let dgamma = wanted_parameter(client, problem, "gamma", wanted.dgamma, gamma)?;
    let dbeta = wanted_parameter(client, problem, "beta", wanted.dbeta, beta)?;
    let blueprint = blueprint(client, problem, x, args.routine, Pass::Backward)?;
    let plan = Plan::new(problem, blueprint, statistic, client);
    let sums = plan.partial_rows.unwrap_or(0) * problem.row_len();
    let spans = x.span(problem).max(args.dy.span(problem));
    let address = checked_address_type(client, spans.max(problem.elements()).max(sums))?;

    let dx = wanted
        .dx
        .then(|| client.empty(problem.elements() * x.elem.size()));
    let gradients = Gradients { dx, dgamma, dbeta };
    if wanted.dx || wanted.dgamma || wanted.dbeta {
        launch::backward(client, problem, &plan, address, args, gradients.clone());
    }
    Ok(gradients)
}

/// How the launches of a backward pass share the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    pub blueprint: Blueprint,
    pub cubes: u32,
    /// Rows of partial sums of dgamma and dbeta, or `None` where columns are summed without any.
    pub partial_rows: Option<usize>,
    /// Lanes (neighbouring vectors of columns) and row groups of a cube that sums columns.
    pub columns: (u32, u32),
    pub statistic: ElemType,
}

impl Plan {
    fn new(problem: &Problem, blueprint: Blueprint, statistic: ElemType, client: &Client) -> Self {
        let limits = DeviceLimits::of(client.properties());
        let persistent = limits.processors.unwrap_or(PROCESSORS) * CUBES_A_PROCESSOR;
        let most = match blueprint.routine {
            Routine::Looped => limits.max_cubes,
            Routine::Unit if limits.threads => 1,
            Routine::Unit | Routine::Plane | Routine::Cube => persistent.min(limits.max_cubes),
        };
        let cubes = blueprint.cubes(problem.rows()).min(most as usize) as u32;
        let partial_rows = match blueprint.routine {
            Routine::Plane | Routine::Cube => Some(cubes as usize),
            Routine::Unit => Some((cubes * blueprint.units()) as usize),
            Routine::Looped => None,
        };
        Self {
            blueprint,
            cubes,
            partial_rows,
            columns: column_units(&limits),
            statistic,
        }
    }
}

/// Units of a cube that sums columns: a cache line of neighbouring columns, and as many rows at a
/// time as a cube of 256 has left. Threads take a column each.
pub(super) fn column_units(limits: &DeviceLimits) -> (u32, u32) {
    if limits.threads {
        return (limits.max_units, 1);
    }
    let lanes = 32.min(limits.max_units);
    (lanes, (256.min(limits.max_units) / lanes).max(1))
}

/// The buffer of a parameter's gradient, if it is wanted.
fn wanted_parameter(
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
            client.empty(problem.row_len() * parameter.elem.size()),
        )),
    }
}
