//! The forward pass: checks, output buffers, one launch.

use cubecl::client::Client;
use cubecl::server::Handle;

use super::types::{checked_address_type, row_class, statistic_type};
use super::{Affine, Blueprint, DeviceLimits, Mapping, Pass, Rows, launch, prepare, select};
use crate::{Error, Problem};

/// What a forward pass reads, and how it is to run.
#[derive(Debug, Clone)]
pub struct Forward {
    /// The rows to normalise.
    pub x: Rows,
    /// gamma and beta.
    pub affine: Affine,
    /// Keep every row's rstd, for the backward pass.
    pub with_rstd: bool,
    /// Write y over x, whose rows must be dense. The caller sees to it that nobody else reads x.
    pub in_place: bool,
    /// How rows are mapped to the device; by default, as [`select`](super::select()) chooses.
    pub mapping: Mapping,
}

/// The outputs of a forward pass.
#[derive(Debug, Clone)]
pub struct Normalised {
    /// Dense rows of x's type.
    pub y: Handle,
    /// One value a row, of the statistic's type, if asked for.
    pub rstd: Option<Handle>,
}

/// `y = x · rstd · gamma + beta` for every row, with `rstd = 1/√(mean of squares + epsilon)`.
///
/// # Errors
///
/// If a buffer is too short or of a type that the device lacks, a pitch cannot be read (see
/// [`reads_in_place`](super::reads_in_place)), the device cannot address the buffers, or cannot run
/// the routine asked for. Nothing is queued then.
pub fn forward(client: &Client, problem: &Problem, args: Forward) -> Result<Normalised, Error> {
    args.x.check(client, "x", problem)?;
    args.affine.check(client, problem)?;
    let elem = args.x.elem;
    let statistic = statistic_type(elem);
    let (rows, row_len) = (problem.rows(), problem.row_len());
    if args.in_place && args.x.pitch != row_len {
        return Err(Error::Pitch {
            buffer: "y in place of x",
            pitch: args.x.pitch,
        });
    }
    let limits = args.mapping.limits_on(client);
    let blueprint = blueprint(problem, &args.x, &args.mapping, Pass::Forward, &limits)?;
    let address = checked_address_type(client, args.x.span(problem).max(problem.elements()))?;

    let y = match args.in_place {
        true => args.x.handle.clone(),
        false => client.empty(problem.elements() * elem.size()),
    };
    let rstd = args
        .with_rstd
        .then(|| client.empty(rows * statistic.size()));
    if rows > 0 {
        let outputs = Normalised {
            y: y.clone(),
            rstd: rstd.clone(),
        };
        // Every thread walks over all cubes.
        let most = if limits.threads { 1 } else { limits.max_cubes };
        let cubes = blueprint.cubes(rows).min(most as usize) as u32;
        launch::forward(client, problem, &blueprint, cubes, address, args, outputs);
    }
    Ok(Normalised { y, rstd })
}

/// The blueprint selected for these rows, or that of the routine asked for.
pub(super) fn blueprint(
    problem: &Problem,
    x: &Rows,
    mapping: &Mapping,
    pass: Pass,
    limits: &DeviceLimits,
) -> Result<Blueprint, Error> {
    let class = row_class(problem.row_len(), x.elem);
    match mapping.routine {
        None => Ok(select(&class, pass, limits)),
        Some(routine) => prepare(routine, &class, pass, limits).ok_or(Error::Routine {
            routine,
            row_len: class.row_len,
        }),
    }
}
