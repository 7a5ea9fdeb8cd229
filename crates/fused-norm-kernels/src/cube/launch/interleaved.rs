//! The launches over rows that lie side by side.

use cubecl::client::Client;
use cubecl::ir::AddressType;
use cubecl::prelude::*;
use cubecl::server::Handle;

use super::{buffer, inverse_count, parameter};
use crate::Problem;
use crate::cube::kernels::interleaved::{
    backward::backward_interleaved, forward::forward_interleaved,
    parameters::parameters_interleaved,
};
use crate::cube::scales::Scales;
use crate::cube::sides::Sides;
use crate::cube::types::statistic_type;
use crate::cube::{Form, Interleaved, InterleavedBackward, InterleavedForward, Normalised};

/// Queues the forward pass over at least one row.
pub(in crate::cube) fn forward(
    client: &Client,
    problem: &Problem,
    (sides, form): (Sides, Form),
    address: AddressType,
    args: InterleavedForward,
    outputs: Normalised,
) {
    let rows = problem.rows();
    let size = sides.vector_size;
    let (x, elem) = (&args.x, args.x.elem);
    let statistic = statistic_type(elem);
    let scales = Scales::of(problem.epsilon(), elem, form);
    let (gamma, beta) = args.affine.parameters();
    // SAFETY: `interleaved_forward` has checked that x holds its span and gamma and beta a row, and
    // has made y and rstd for all rows; the kernel indexes below these lengths. `inner`, pitch and rows
    // are multiples of the vector size, `inner` is at least one, and every loop advances.
    unsafe {
        forward_interleaved::launch_unchecked(
            client,
            CubeCount::Static(sides.cubes, 1, 1),
            CubeDim::new_1d(sides.units()),
            address,
            size,
            rows_of(x, problem),
            parameter(gamma, problem).into(),
            parameter(beta, problem).into(),
            buffer(outputs.y, problem.elements()),
            outputs.rstd.map(|rstd| buffer(rstd, rows)).into(),
            rows / size,
            x.inner / size,
            x.pitch / size,
            problem.row_len(),
            problem.stat_len(),
            inverse_count(problem, statistic),
            InputScalar::new(scales.near, statistic),
            InputScalar::new(scales.far, statistic),
            InputScalar::new(scales.epsilon, statistic),
            sides.lanes,
            sides.groups,
            form,
            elem,
            statistic,
            gamma.map_or(statistic, |gamma| gamma.elem),
            beta.map_or(statistic, |beta| beta.elem),
        )
    }
}

/// Queues dx of at least one row.
pub(in crate::cube) fn backward(
    client: &Client,
    problem: &Problem,
    (sides, form): (Sides, Form),
    address: AddressType,
    args: &InterleavedBackward,
    dx: Handle,
) {
    let rows = problem.rows();
    let size = sides.vector_size;
    let elem = args.x.elem;
    let statistic = statistic_type(elem);
    let (gamma, _) = args.affine.parameters();
    // dy and x hold their spans, rstd a value a row, gamma a row, dx all rows.
    // SAFETY: `interleaved_backward` has checked so, or made them so; the kernel indexes below these
    // lengths. `inner`, pitches and rows are multiples of the vector size, `inner` is at least one, and
    // every loop advances.
    unsafe {
        backward_interleaved::launch_unchecked(
            client,
            CubeCount::Static(sides.cubes, 1, 1),
            CubeDim::new_1d(sides.units()),
            address,
            size,
            rows_of(&args.dy, problem),
            rows_of(&args.x, problem),
            buffer(args.rstd.clone(), rows),
            parameter(gamma, problem).into(),
            buffer(dx, problem.elements()),
            rows / size,
            args.x.inner / size,
            args.dy.pitch / size,
            args.x.pitch / size,
            problem.row_len(),
            problem.stat_len(),
            inverse_count(problem, statistic),
            sides.lanes,
            sides.groups,
            form,
            elem,
            statistic,
            gamma.map_or(statistic, |gamma| gamma.elem),
        )
    }
}

/// Queues dgamma and dbeta, as far as their buffers are there: at least one of them.
pub(in crate::cube) fn parameters(
    client: &Client,
    problem: &Problem,
    sides: Sides,
    address: AddressType,
    args: &InterleavedBackward,
    gradients: [Option<Handle>; 2],
) {
    let rows = problem.rows();
    let size = sides.vector_size;
    let elem = args.x.elem;
    let statistic = statistic_type(elem);
    let (gamma, beta) = args.affine.parameters();
    let [dgamma, dbeta] =
        gradients.map(|gradient| gradient.map(|gradient| buffer(gradient, problem.row_len())));
    // dy and x hold their spans, rstd a value a row, dgamma and dbeta a row.
    // SAFETY: `interleaved_backward` has checked so, or made them so; the kernel indexes below these
    // lengths, and of no rows it reads nothing. `inner`, pitches and rows are multiples of the vector
    // size, and every loop advances.
    unsafe {
        parameters_interleaved::launch_unchecked(
            client,
            CubeCount::Static(sides.column_cubes, 1, 1),
            CubeDim::new_1d(sides.column.units()),
            address,
            size,
            rows_of(&args.dy, problem),
            rows_of(&args.x, problem),
            buffer(args.rstd.clone(), rows),
            dgamma.into(),
            dbeta.into(),
            rows / size,
            args.x.inner / size,
            args.dy.pitch / size,
            args.x.pitch / size,
            problem.row_len(),
            sides.column,
            elem,
            statistic,
            gamma.map_or(statistic, |gamma| gamma.elem),
            beta.map_or(statistic, |beta| beta.elem),
        )
    }
}

fn rows_of(rows: &Interleaved, problem: &Problem) -> BufferArg {
    buffer(rows.handle.clone(), rows.span(problem))
}
