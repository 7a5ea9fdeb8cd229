//! The launches: the only place where a kernel meets buffers.

use cubecl::client::Client;
use cubecl::ir::{AddressType, ElemType};
use cubecl::prelude::*;
use cubecl::server::Handle;

use super::backward::{Backward, Gradients, Plan};
use super::forward::{Forward, Normalised};
use super::kernels::{
    backward_resident::backward_resident, backward_streamed::backward_streamed, columns::columns,
    forward_resident::forward_resident, forward_streamed::forward_streamed, reduce::reduce,
};
use super::types::statistic_type;
use super::{Blueprint, Reach};
use crate::Problem;

/// A buffer of `len` elements, as an argument.
fn buffer(handle: Handle, len: usize) -> BufferArg {
    // SAFETY: `check_len` has compared the handle with the length (inputs), or the handle was made
    // with that length (outputs).
    unsafe { BufferArg::from_raw_parts(handle, len) }
}

/// Queues the forward pass over at least one row.
pub(super) fn forward(
    client: &Client,
    problem: &Problem,
    blueprint: &Blueprint,
    cubes: u32,
    address: AddressType,
    args: Forward,
    outputs: Normalised,
) {
    let (rows, row_len) = (problem.rows(), problem.row_len());
    let size = blueprint.vector_size;
    let elem = args.x.elem;
    let statistic = statistic_type(elem);
    let (gamma, beta) = args.affine.parameters();
    let gamma_type = gamma.map_or(statistic, |gamma| gamma.elem);
    let beta_type = beta.map_or(statistic, |beta| beta.elem);
    let parameter = |parameter: Option<&super::Parameter>| {
        parameter.map(|parameter| buffer(parameter.handle.clone(), row_len))
    };
    let y = if args.in_place {
        BufferArg::alias(0, problem.elements())
    } else {
        buffer(outputs.y, problem.elements())
    };
    let span = args.x.span(problem);
    macro_rules! launch {
        ($kernel:ident) => {
            // SAFETY: `forward` has checked that x holds `span` elements and gamma and beta a row,
            // and has made y and rstd for all rows; the kernels index below these lengths. Row
            // length and pitch are multiples of the vector size, and every loop advances.
            unsafe {
                $kernel::launch_unchecked(
                    client,
                    CubeCount::Static(cubes, 1, 1),
                    CubeDim::new_1d(blueprint.units()),
                    address,
                    size,
                    buffer(args.x.handle, span),
                    parameter(gamma).into(),
                    parameter(beta).into(),
                    y,
                    outputs.rstd.map(|rstd| buffer(rstd, rows)).into(),
                    rows,
                    row_len / size,
                    args.x.pitch / size,
                    problem.stat_len(),
                    inverse_count(problem, statistic),
                    InputScalar::new(problem.epsilon(), statistic),
                    *blueprint,
                    Reach::of(problem.stat_len(), row_len, size),
                    elem,
                    statistic,
                    gamma_type,
                    beta_type,
                )
            }
        };
    }
    if blueprint.vectors > 0 {
        launch!(forward_resident)
    } else {
        launch!(forward_streamed)
    }
}

/// Queues the backward pass for the gradients whose buffers are there: at least one.
pub(super) fn backward(
    client: &Client,
    problem: &Problem,
    plan: &Plan,
    address: AddressType,
    args: Backward,
    gradients: Gradients,
) {
    let (gamma, beta) = args.affine.parameters();
    let types = (
        gamma.map_or(plan.statistic, |gamma| gamma.elem),
        beta.map_or(plan.statistic, |beta| beta.elem),
    );
    let row_len = problem.row_len();
    let Some(partial_rows) = plan.partial_rows else {
        let Gradients { dx, dgamma, dbeta } = gradients;
        if dx.is_some() && problem.rows() > 0 {
            walk(client, problem, plan, address, &args, [dx, None, None]);
        }
        if dgamma.is_some() || dbeta.is_some() {
            sum_columns(client, problem, plan, address, args, types, [dgamma, dbeta]);
        }
        return;
    };
    let sums = |wanted: &Option<Handle>| {
        let bytes = partial_rows * row_len * plan.statistic.size();
        wanted.is_some().then(|| client.empty(bytes))
    };
    let (gamma_sums, beta_sums) = (sums(&gradients.dgamma), sums(&gradients.dbeta));
    if problem.rows() > 0 {
        let outputs = [gradients.dx, gamma_sums.clone(), beta_sums.clone()];
        walk(client, problem, plan, address, &args, outputs);
    }
    if gamma_sums.is_some() || beta_sums.is_some() {
        let sums = [gamma_sums, beta_sums];
        let outputs = [gradients.dgamma, gradients.dbeta];
        sum_partials(client, plan, address, row_len, types, sums, outputs);
    }
}

/// The walk over the rows: dx, and partial sums of dgamma and dbeta.
fn walk(
    client: &Client,
    problem: &Problem,
    plan: &Plan,
    address: AddressType,
    args: &Backward,
    [dx, gamma_sums, beta_sums]: [Option<Handle>; 3],
) {
    let (rows, row_len) = (problem.rows(), problem.row_len());
    let blueprint = plan.blueprint;
    let size = blueprint.vector_size;
    let (gamma, _) = args.affine.parameters();
    let gamma_type = gamma.map_or(plan.statistic, |gamma| gamma.elem);
    let sums_len = plan.partial_rows.unwrap_or(0) * row_len;
    let sums = |sums: Option<Handle>| sums.map(|sums| buffer(sums, sums_len));
    macro_rules! launch {
        ($kernel:ident $(, $rows_a_cube:expr)?) => {
            // SAFETY: `backward` has checked dy, x, rstd and gamma, and made dx; sums have a row a
            // cube (resident) or a unit of one (streamed). Indices stay below these lengths, row
            // length and pitches are multiples of the vector size, and every loop advances.
            unsafe {
                $kernel::launch_unchecked(
                    client,
                    CubeCount::Static(plan.cubes, 1, 1),
                    CubeDim::new_1d(blueprint.units()),
                    address,
                    size,
                    buffer(args.dy.handle.clone(), args.dy.span(problem)),
                    buffer(args.x.handle.clone(), args.x.span(problem)),
                    buffer(args.rstd.clone(), rows),
                    gamma
                        .map(|gamma| buffer(gamma.handle.clone(), row_len))
                        .into(),
                    dx.map(|dx| buffer(dx, problem.elements())).into(),
                    sums(gamma_sums).into(),
                    sums(beta_sums).into(),
                    rows,
                    $($rows_a_cube,)?
                    row_len / size,
                    args.dy.pitch / size,
                    args.x.pitch / size,
                    problem.stat_len(),
                    inverse_count(problem, plan.statistic),
                    blueprint,
                    Reach::of(problem.stat_len(), row_len, size),
                    args.x.elem,
                    plan.statistic,
                    gamma_type,
                )
            }
        };
    }
    if blueprint.vectors > 0 {
        launch!(backward_resident)
    } else {
        launch!(backward_streamed, plan.rows_a_cube)
    }
}

/// dgamma and dbeta straight from dy and x.
fn sum_columns(
    client: &Client,
    problem: &Problem,
    plan: &Plan,
    address: AddressType,
    args: Backward,
    (gamma_type, beta_type): (ElemType, ElemType),
    [dgamma, dbeta]: [Option<Handle>; 2],
) {
    let (rows, row_len) = (problem.rows(), problem.row_len());
    let columns = plan.columns;
    let size = columns.vector_size;
    let spans = (args.dy.span(problem), args.x.span(problem));
    // SAFETY: `backward` has checked that dy and x hold their spans and rstd a value a row, and has
    // made dgamma and dbeta a row long. The kernel indexes below these lengths, row length and
    // pitches are multiples of the vector size, and every loop advances.
    unsafe {
        columns::launch_unchecked(
            client,
            CubeCount::Static(columns.cubes, 1, 1),
            CubeDim::new_1d(columns.units()),
            address,
            size,
            buffer(args.dy.handle, spans.0),
            buffer(args.x.handle, spans.1),
            buffer(args.rstd, rows),
            dgamma.map(|dgamma| buffer(dgamma, row_len)).into(),
            dbeta.map(|dbeta| buffer(dbeta, row_len)).into(),
            rows,
            row_len / size,
            args.dy.pitch / size,
            args.x.pitch / size,
            columns.lanes,
            columns.row_groups,
            args.x.elem,
            plan.statistic,
            gamma_type,
            beta_type,
        )
    }
}

/// dgamma and dbeta from rows of partial sums.
fn sum_partials(
    client: &Client,
    plan: &Plan,
    address: AddressType,
    row_len: usize,
    (gamma_type, beta_type): (ElemType, ElemType),
    [gamma_sums, beta_sums]: [Option<Handle>; 2],
    [dgamma, dbeta]: [Option<Handle>; 2],
) {
    let partial_rows = plan.partial_rows.unwrap_or(0);
    let columns = plan.columns;
    let size = columns.vector_size;
    let sums = |sums: Option<Handle>| sums.map(|sums| buffer(sums, partial_rows * row_len));
    let gradient = |gradient: Option<Handle>| gradient.map(|gradient| buffer(gradient, row_len));
    // SAFETY: the sums were made with `partial_rows` rows, dgamma and dbeta with one. The kernel
    // indexes below these lengths, the vector size divides the row, and every loop advances.
    unsafe {
        reduce::launch_unchecked(
            client,
            CubeCount::Static(columns.cubes, 1, 1),
            CubeDim::new_1d(columns.units()),
            address,
            size,
            sums(gamma_sums).into(),
            sums(beta_sums).into(),
            gradient(dgamma).into(),
            gradient(dbeta).into(),
            partial_rows,
            row_len / size,
            columns.lanes,
            columns.row_groups,
            plan.statistic,
            gamma_type,
            beta_type,
        )
    }
}

fn inverse_count(problem: &Problem, statistic: ElemType) -> InputScalar {
    InputScalar::new(1.0 / problem.stat_len() as f64, statistic)
}
