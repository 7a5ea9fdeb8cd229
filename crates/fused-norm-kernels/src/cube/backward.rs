//! The backward pass: checks, output buffers, at most two launches.

use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::server::Handle;

use super::buffers::check_len;
use super::forward::blueprint;
use super::launch;
use super::types::{checked_address_type, row_class, statistic_type};
use super::{Affine, Blueprint, DeviceLimits, Mapping, Parameter, Pass, Routine, Rows};
use crate::{Error, Problem};

/// Multiprocessors of a device that does not say how many it has.
const PROCESSORS: u32 = 32;
/// Cubes a multiprocessor that walk over the rows of a backward pass, each with a row of partial sums.
const CUBES_A_PROCESSOR: u32 = 2;

/// Rows that a unit adds up in f32 before it begins a new partial sum, and cubes at most that do so:
/// a sum that runs through many rows drifts, by 6e-4 where 65 536 equal terms are added.
const ROWS_A_SUM: usize = 256;
const UNIT_CUBES: u32 = 256;

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
    /// How rows are mapped to the device; by default, as [`select`](super::select()) chooses.
    pub mapping: Mapping,
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
    check_len(client, "rstd", &args.rstd, statistic, problem.rows())?;
    let (gamma, beta) = args.affine.parameters();
    let dgamma = wanted_parameter(client, problem, "gamma", wanted.dgamma, gamma)?;
    let dbeta = wanted_parameter(client, problem, "beta", wanted.dbeta, beta)?;
    let limits = args.mapping.limits_on(client);
    let blueprint = blueprint(problem, x, &args.mapping, Pass::Backward, &limits)?;
    let plan = Plan::new(problem, blueprint, statistic, &limits);
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
    /// Neighbouring rows that a cube of the streamed kernel walks over.
    pub rows_a_cube: usize,
    /// Rows of partial sums of dgamma and dbeta, or `None` where columns are summed without any.
    pub partial_rows: Option<usize>,
    pub columns: Columns,
    pub statistic: ElemType,
}

impl Plan {
    fn new(
        problem: &Problem,
        blueprint: Blueprint,
        statistic: ElemType,
        limits: &DeviceLimits,
    ) -> Self {
        let (rows, row_len) = (problem.rows(), problem.row_len());
        let persistent = limits.processors.unwrap_or(PROCESSORS) * CUBES_A_PROCESSOR;
        let busy = blueprint.cubes(rows);
        let (cubes, most) = match blueprint.routine {
            Routine::Looped => (busy, limits.max_cubes),
            Routine::Unit => (busy.div_ceil(ROWS_A_SUM), UNIT_CUBES),
            Routine::Plane | Routine::Cube => (busy, persistent),
        };
        let cubes = cubes.min(most.min(limits.max_cubes) as usize) as u32;
        let groups = blueprint.row_groups as usize;
        let rows_a_cube = busy.div_ceil((cubes as usize).max(1)) * groups;
        let partial_rows = match blueprint.routine {
            Routine::Plane | Routine::Cube => Some(cubes as usize),
            Routine::Unit => Some((cubes * blueprint.units()) as usize),
            Routine::Looped => None,
        };
        Self {
            blueprint,
            cubes,
            rows_a_cube,
            partial_rows,
            columns: match partial_rows {
                Some(_) => Columns::of_partial_sums(row_len, statistic, limits),
                None => Columns::new(row_len, blueprint.vector_size, statistic, limits),
            },
            statistic,
        }
    }
}

/// How columns are summed: neighbouring vectors of columns by the lanes of a cube, and several rows at
/// a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Columns {
    pub vector_size: usize,
    pub lanes: u32,
    pub row_groups: u32,
    pub cubes: u32,
}

impl Columns {
    /// A cache line of neighbouring columns, and as many rows at a time as a cube of 256 has left, or
    /// one where shared memory is too small. Threads take a column each.
    pub fn new(
        row_len: usize,
        vector_size: usize,
        statistic: ElemType,
        limits: &DeviceLimits,
    ) -> Self {
        let (lanes, row_groups) = if limits.threads {
            (limits.max_units, 1)
        } else {
            let lanes = 32.min(limits.max_units);
            let row_groups = 256.min(limits.max_units) / lanes;
            // One for dgamma and one for dbeta.
            let shared = 2 * (row_groups * lanes) as usize * vector_size * statistic.size();
            let fits = shared <= limits.max_shared_memory;
            (lanes, if fits { row_groups } else { 1 })
        };
        let most = if limits.threads { 1 } else { limits.max_cubes };
        let cubes = (row_len / vector_size).div_ceil(lanes as usize);
        Self {
            vector_size,
            lanes,
            row_groups,
            cubes: cubes.min(most as usize) as u32,
        }
    }

    /// The columns of rows of partial sums.
    pub fn of_partial_sums(row_len: usize, statistic: ElemType, limits: &DeviceLimits) -> Self {
        let vector_size = row_class(row_len, statistic).vector_size(limits);
        Self::new(row_len, vector_size, statistic, limits)
    }

    /// Units of a cube.
    pub fn units(&self) -> u32 {
        self.lanes * self.row_groups
    }
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

#[cfg(test)]
mod tests {
    use cubecl::ir::FloatKind;

    use super::super::{prepare, row_class};
    use super::*;

    const F32: ElemType = ElemType::Float(FloatKind::F32);

    fn gpu() -> DeviceLimits {
        DeviceLimits {
            plane_size: Some(32),
            max_units: 1024,
            max_cubes: 65_535,
            max_shared_memory: 48 * 1024,
            load_bytes: 16,
            max_vector_size: usize::MAX,
            processors: Some(132),
            threads: false,
        }
    }

    #[test]
    fn columns_are_summed_without_shared_memory_where_there_is_none() {
        let none = DeviceLimits {
            max_shared_memory: 0,
            ..gpu()
        };
        for (limits, row_groups) in [(gpu(), 8), (none, 1)] {
            let columns = Columns::of_partial_sums(4096, F32, &limits);
            assert_eq!((columns.lanes, columns.row_groups), (32, row_groups));
            assert_eq!((columns.vector_size, columns.cubes), (4, 32));
        }
    }

    #[test]
    fn partial_sums_do_not_grow_with_the_rows_and_every_row_is_walked() {
        for (routine, row_len) in [
            (Routine::Plane, 64),
            (Routine::Cube, 4096),
            (Routine::Looped, 65_536),
            (Routine::Unit, 1000),
        ] {
            let class = row_class(row_len, F32);
            let blueprint = prepare(routine, &class, Pass::Backward, &gpu()).unwrap();
            for rows in [1, 2, 255, 1000, 65_537, 1_000_000_007] {
                let problem = Problem::new(rows, row_len, row_len, 1e-5).unwrap();
                let plan = Plan::new(&problem, blueprint, F32, &gpu());
                let most = match routine {
                    Routine::Looped => 0,
                    Routine::Unit => (UNIT_CUBES * blueprint.units()) as usize,
                    Routine::Plane | Routine::Cube => 2 * 132,
                };
                assert!(
                    plan.partial_rows.unwrap_or(0) <= most,
                    "{routine:?} {rows}: {plan:?}"
                );
                assert!(
                    plan.cubes >= 1 && plan.cubes <= gpu().max_cubes,
                    "{rows}: {plan:?}"
                );
                assert!(
                    plan.rows_a_cube * plan.cubes as usize >= rows,
                    "{rows}: {plan:?}"
                );
                let groups = blueprint.row_groups as usize;
                assert!(plan.rows_a_cube.is_multiple_of(groups), "{rows}: {plan:?}");
            }
        }
    }
}
