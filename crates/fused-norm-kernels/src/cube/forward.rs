//! The forward pass: checks, output buffers, one launch.

use cubecl::client::Client;
use cubecl::server::Handle;

use super::types::{checked_address_type, row_class, statistic_type};
use super::{Affine, Blueprint, DeviceLimits, Pass, Routine, Rows, launch, prepare, select};
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
    /// Take this routine instead of the selected one.
    pub routine: Option<Routine>,
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
    let blueprint = blueprint(client, problem, &args.x, args.routine, Pass::Forward)?;
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
        launch::forward(client, problem, &blueprint, address, args, outputs);
    }
    Ok(Normalised { y, rstd })
}

/// The blueprint selected for these rows, or that of the routine asked for.
pub(super) fn blueprint(
    client: &Client,
    problem: &Problem,
    x: &Rows,
    routine: Option<Routine>,
    pass: Pass,
) -> Result<Blueprint, Error> {
    let limits = DeviceLimits::of(client.properties());
    let class = row_class(problem.row_len(), x.elem);
    match routine {
        None => Ok(select(&class, pass, &limits)),
        Some(routine) => prepare(routine, &class, pass, &limits).ok_or(Error::Routine {
            routine,
            row_len: class.row_len,
        }),
    }
}
