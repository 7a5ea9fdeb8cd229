//! The forward pass: checks, output buffers, one launch.

use cubecl::client::Client;
use cubecl::server::Handle;

use super::types::{checked_address_type, row_class, statistic_type};
use super::{
    Affine, Blueprint, DeviceLimits, Form, Mapping, Operand, Pass, Rows, launch, prepare, select,
};
use crate::{Error, Problem};

/// What a forward pass reads, and how it is to run.
#[derive(Debug, Clone)]
pub struct Forward {
    /// The rows to normalise.
    pub x: Rows,
    /// What meets them.
    pub operand: Operand,
    /// gamma and beta.
    pub affine: Affine,
    /// Keep every row's rstd, for the backward pass.
    pub with_rstd: bool,
    /// Write y over x, whose rows must be dense and alone. The caller sees to it that nobody else
    /// reads x.
    pub in_place: bool,
    /// How rows are mapped to the device; by default, as [`select`](super::select()) chooses.
    pub mapping: Mapping,
}

/// The outputs of a forward pass.
#[derive(Debug, Clone)]
pub struct Normalised {
    /// Dense rows of x's type; side by side where x's are.
    pub y: Handle,
    /// `x + residual`, rounded to x's type, in dense rows: there exactly for
    /// [`Operand::Residual`].
    pub sum: Option<Handle>,
    /// One value a row, of the statistic's type, if asked for.
    pub rstd: Option<Handle>,
}

/// `y = u · rstd · gamma + beta` for every row, with `rstd = 1/√(mean of squares of u + epsilon)`:
///
/// ```text
/// nothing beside x       u = x
/// Operand::Residual      u = x + residual            sum = round(u)
/// GateOrder::BeforeNorm  u = x · silu(gate)
/// GateOrder::AfterNorm   u = x                       y = (u · rstd · gamma + beta) · silu(gate)
/// ```
///
/// u is never rounded. [`Rounding`](crate::Rounding) does not count with a gate: y is rounded once.
///
/// # Errors
///
/// If a buffer is too short or of a type that the device lacks, the operand's type is not x's, a
/// pitch cannot be read (see [`reads_in_place`](super::reads_in_place)), `in_place` is asked for with
/// an operand, the device cannot address the buffers, or cannot run the routine asked for. Nothing
/// is queued then.
pub fn forward(client: &Client, problem: &Problem, args: Forward) -> Result<Normalised, Error> {
    let elem = args.x.elem;
    args.x.check(client, "x", problem)?;
    args.operand.check(client, problem, elem)?;
    args.affine.check(client, problem)?;
    let statistic = statistic_type(elem);
    let (rows, row_len) = (problem.rows(), problem.row_len());
    let kind = args.operand.kind();
    let has_gamma = args.affine.parameters().0.is_some();
    let form = Form::of(problem, kind, has_gamma, elem, Pass::Forward);
    if args.in_place && form.has_operand() {
        return Err(Error::InPlace);
    }
    if args.in_place && args.x.pitch != row_len {
        return Err(Error::Pitch {
            buffer: "y in place of x",
            pitch: args.x.pitch,
        });
    }
    let limits = args.mapping.limits_on(client);
    let pass = Pass::Forward;
    let blueprint = blueprint(problem, &args.x, &form, &args.mapping, pass, &limits)?;
    let spans = args.x.span(problem).max(args.operand.span(problem));
    let largest = spans.max(problem.elements()).max(problem.gamma_len());
    let address = checked_address_type(client, largest)?;

    let dense = || client.empty(problem.elements() * elem.size());
    let outputs = Normalised {
        y: match args.in_place {
            true => args.x.handle.clone(),
            false => dense(),
        },
        sum: form.adds().then(dense),
        rstd: args
            .with_rstd
            .then(|| client.empty(rows * statistic.size())),
    };
    if rows > 0 {
        // Every thread walks over all cubes.
        let most = if limits.threads { 1 } else { limits.max_cubes };
        let cubes = blueprint.cubes(rows).min(most as usize) as u32;
        let plan = (blueprint, form);
        launch::forward(client, problem, plan, cubes, address, args, outputs.clone());
    }
    Ok(outputs)
}

/// The blueprint selected for these rows, or that of the routine asked for.
pub(super) fn blueprint(
    problem: &Problem,
    x: &Rows,
    form: &Form,
    mapping: &Mapping,
    pass: Pass,
    limits: &DeviceLimits,
) -> Result<Blueprint, Error> {
    let class = row_class(problem.row_len(), x.elem).with_inputs(form.inputs());
    match mapping.routine {
        None => Ok(select(&class, pass, limits)),
        Some(routine) => prepare(routine, &class, pass, limits).ok_or(Error::Routine {
            routine,
            row_len: class.row_len,
        }),
    }
}
