//! The launches of a backward pass: the walk over the rows, and the sums over them.

use cubecl::client::Client;
use cubecl::ir::{AddressType, ElemType};
use cubecl::prelude::*;
use cubecl::server::Handle;

use super::{buffer, inverse_count, parameter};
use crate::cube::kernels::{
    backward_resident::backward_resident, backward_streamed::backward_streamed, columns::columns,
    reduce::reduce,
};
use crate::cube::plan::Plan;
use crate::cube::{Backward, Gradients, Reach, Rows};
use crate::{GateOrder, Problem};

/// Queues the backward pass for the gradients whose buffers are there: at least one.
pub(in crate::cube) fn backward(
    client: &Client,
    problem: &Problem,
    plan: &Plan,
    address: AddressType,
    args: Backward,
    gradients: Gradients,
) {
    let (gamma, beta) = args.affine.parameters();
    let types = [gamma, beta].map(|parameter| parameter.map_or(plan.statistic, |it| it.elem));
    let Gradients {
        dx,
        dgate,
        dgamma,
        dbeta,
    } = gradients;
    let Some(partial_rows) = plan.partial_rows else {
        if (dx.is_some() || dgate.is_some()) && problem.rows() > 0 {
            let outputs = [dx, dgate, None, None];
            walk(client, problem, plan, address, &args, outputs);
        }
        if dgamma.is_some() || dbeta.is_some() {
            sum_columns(client, problem, plan, address, args, types, [dgamma, dbeta]);
        }
        return;
    };
    // One row of partial sums, of the gradient's type, is the gradient.
    let whole = types.map(|elem| partial_rows == 1 && elem == plan.statistic);
    let [gamma_sums, beta_sums] =
        [(&dgamma, whole[0]), (&dbeta, whole[1])].map(|(wanted, whole)| {
            let bytes = partial_rows * problem.gamma_len() * plan.statistic.size();
            let wanted = wanted.as_ref()?;
            Some(match whole {
                true => wanted.clone(),
                false => client.empty(bytes),
            })
        });
    if problem.rows() > 0 {
        let outputs = [dx, dgate, gamma_sums.clone(), beta_sums.clone()];
        walk(client, problem, plan, address, &args, outputs);
    }
    let [dgamma, dbeta] = [dgamma.filter(|_| !whole[0]), dbeta.filter(|_| !whole[1])];
    if dgamma.is_some() || dbeta.is_some() {
        let sums = [
            gamma_sums.filter(|_| !whole[0]),
            beta_sums.filter(|_| !whole[1]),
        ];
        sum_partials(client, problem, plan, address, types, sums, [dgamma, dbeta]);
    }
}

/// The walk over the rows: dx, dgate, and partial sums of dgamma and dbeta.
fn walk(
    client: &Client,
    problem: &Problem,
    plan: &Plan,
    address: AddressType,
    args: &Backward,
    [dx, dgate, gamma_sums, beta_sums]: [Option<Handle>; 4],
) {
    let (rows, row_len) = (problem.rows(), problem.row_len());
    let blueprint = plan.blueprint;
    let size = blueprint.vector_size;
    let (gamma, beta) = args.affine.parameters();
    // The gradient of a gate behind the normalisation is the only one that beta takes part in.
    let beta = beta.filter(|_| {
        let order = args.gate.as_ref().map(|gate| gate.order);
        dgate.is_some() && order == Some(GateOrder::AfterNorm)
    });
    let gamma_type = gamma.map_or(plan.statistic, |gamma| gamma.elem);
    let beta_type = beta.map_or(plan.statistic, |beta| beta.elem);
    let sums_len = plan.partial_rows.unwrap_or(0) * problem.gamma_len();
    let sums = |sums: Option<Handle>| sums.map(|sums| buffer(sums, sums_len));
    let dense = |dense: Option<Handle>| dense.map(|dense| buffer(dense, problem.elements()));
    macro_rules! launch {
        ($kernel:ident $(, $rows_a_cube:expr)?) => {
            // Sums have a row a cube (resident; a row group where gamma has several rows), or
            // `gamma_rows` rows a unit of one (streamed).
            // SAFETY: `backward` has checked all inputs and made all outputs; indices stay below their
            // lengths. Row length and pitches are multiples of the vector size, gamma's rows are at
            // least one, and every loop advances.
            unsafe {
                $kernel::launch_unchecked(
                    client,
                    CubeCount::Static(plan.cubes, 1, 1),
                    CubeDim::new_1d(blueprint.units()),
                    address,
                    size,
                    rows_of(&args.dy, problem),
                    rows_of(&args.x, problem),
                    gate(args, problem).into(),
                    buffer(args.rstd.clone(), rows),
                    parameter(gamma, problem).into(),
                    parameter(beta, problem).into(),
                    dense(dx).into(),
                    dense(dgate).into(),
                    sums(gamma_sums).into(),
                    sums(beta_sums).into(),
                    rows,
                    $($rows_a_cube,)?
                    row_len / size,
                    args.dy.pitch / size,
                    args.x.pitch / size,
                    gate_pitch(args) / size,
                    problem.gamma_rows(),
                    problem.stat_len(),
                    inverse_count(problem, plan.statistic),
                    blueprint,
                    plan.form,
                    Reach::of(problem.stat_len(), row_len, size),
                    args.x.elem,
                    plan.statistic,
                    gamma_type,
                    beta_type,
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

/// dgamma and dbeta straight from the rows.
fn sum_columns(
    client: &Client,
    problem: &Problem,
    plan: &Plan,
    address: AddressType,
    args: Backward,
    [gamma_type, beta_type]: [ElemType; 2],
    gradients: [Option<Handle>; 2],
) {
    let rows = problem.rows();
    let columns = plan.columns;
    let size = columns.vector_size;
    let [dgamma, dbeta] = parameter_gradients(problem, gradients);
    // dy, x and the gate hold their spans, rstd a value a row, dgamma and dbeta `gamma_rows` rows.
    // SAFETY: `backward` has checked so, or made them so, and the kernel indexes below these lengths.
    // Row length and pitches are multiples of the vector size, gamma's rows are at least one, and every
    // loop advances.
    unsafe {
        columns::launch_unchecked(
            client,
            CubeCount::Static(columns.cubes, 1, 1),
            CubeDim::new_1d(columns.units()),
            address,
            size,
            rows_of(&args.dy, problem),
            rows_of(&args.x, problem),
            gate(&args, problem).into(),
            buffer(args.rstd.clone(), rows),
            dgamma.into(),
            dbeta.into(),
            rows,
            problem.row_len() / size,
            args.dy.pitch / size,
            args.x.pitch / size,
            gate_pitch(&args) / size,
            problem.gamma_rows(),
            columns.lanes,
            columns.row_groups,
            plan.form,
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
    problem: &Problem,
    plan: &Plan,
    address: AddressType,
    [gamma_type, beta_type]: [ElemType; 2],
    [gamma_sums, beta_sums]: [Option<Handle>; 2],
    gradients: [Option<Handle>; 2],
) {
    let partial_rows = plan.partial_rows.unwrap_or(0);
    let gamma_len = problem.gamma_len();
    let columns = plan.columns;
    let size = columns.vector_size;
    let sums = |sums: Option<Handle>| sums.map(|sums| buffer(sums, partial_rows * gamma_len));
    let [dgamma, dbeta] = parameter_gradients(problem, gradients);
    // SAFETY: the sums were made with `partial_rows` rows of gamma's length, dgamma and dbeta with one.
    // The kernel indexes below these lengths, the vector size divides them, and every loop advances.
    unsafe {
        reduce::launch_unchecked(
            client,
            CubeCount::Static(columns.cubes, 1, 1),
            CubeDim::new_1d(columns.units()),
            address,
            size,
            sums(gamma_sums).into(),
            sums(beta_sums).into(),
            dgamma.into(),
            dbeta.into(),
            partial_rows,
            gamma_len / size,
            columns.lanes,
            columns.row_groups,
            plan.statistic,
            gamma_type,
            beta_type,
        )
    }
}

fn rows_of(rows: &Rows, problem: &Problem) -> BufferArg {
    buffer(rows.handle.clone(), rows.span(problem))
}

fn gate(args: &Backward, problem: &Problem) -> Option<BufferArg> {
    let gate = args.gate.as_ref()?;
    Some(rows_of(&gate.rows, problem))
}

fn gate_pitch(args: &Backward) -> usize {
    args.gate.as_ref().map_or(0, |gate| gate.rows.pitch)
}

fn parameter_gradients(
    problem: &Problem,
    gradients: [Option<Handle>; 2],
) -> [Option<BufferArg>; 2] {
    gradients.map(|gradient| gradient.map(|gradient| buffer(gradient, problem.gamma_len())))
}
