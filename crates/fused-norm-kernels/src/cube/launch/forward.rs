//! The launch of a forward pass.

use cubecl::client::Client;
use cubecl::ir::AddressType;
use cubecl::prelude::*;

use super::{buffer, inverse_count, parameter};
use crate::Problem;
use crate::cube::kernels::{
    forward_resident::forward_resident, forward_streamed::forward_streamed,
};
use crate::cube::scales::Scales;
use crate::cube::types::statistic_type;
use crate::cube::{Blueprint, Form, Forward, Normalised, Reach};

/// Queues the forward pass over at least one row.
pub(in crate::cube) fn forward(
    client: &Client,
    problem: &Problem,
    (blueprint, form): (Blueprint, Form),
    cubes: u32,
    address: AddressType,
    args: Forward,
    outputs: Normalised,
) {
    let (rows, row_len) = (problem.rows(), problem.row_len());
    let size = blueprint.vector_size;
    let elem = args.x.elem;
    let statistic = statistic_type(elem);
    let scales = Scales::of(problem.epsilon(), elem, form);
    let (gamma, beta) = args.affine.parameters();
    let gamma_type = gamma.map_or(statistic, |gamma| gamma.elem);
    let beta_type = beta.map_or(statistic, |beta| beta.elem);
    let y = if args.in_place {
        BufferArg::alias(0, problem.elements())
    } else {
        buffer(outputs.y, problem.elements())
    };
    let span = args.x.span(problem);
    let operand = args.operand.rows();
    macro_rules! launch {
        ($kernel:ident) => {
            // x and the operand hold their spans, gamma and beta `gamma_rows` rows, y, sum and rstd
            // all rows.
            // SAFETY: `forward` has checked so, or made them so; the kernels index below these lengths.
            // Row length and pitches are multiples of the vector size, gamma's rows are at least one,
            // and every loop advances.
            unsafe {
                $kernel::launch_unchecked(
                    client,
                    CubeCount::Static(cubes, 1, 1),
                    CubeDim::new_1d(blueprint.units()),
                    address,
                    size,
                    buffer(args.x.handle.clone(), span),
                    operand
                        .map(|rows| buffer(rows.handle.clone(), rows.span(problem)))
                        .into(),
                    parameter(gamma, problem).into(),
                    parameter(beta, problem).into(),
                    y,
                    outputs
                        .sum
                        .map(|sum| buffer(sum, problem.elements()))
                        .into(),
                    outputs.rstd.map(|rstd| buffer(rstd, rows)).into(),
                    rows,
                    row_len / size,
                    args.x.pitch / size,
                    operand.map_or(0, |rows| rows.pitch) / size,
                    problem.gamma_rows(),
                    problem.stat_len(),
                    inverse_count(problem, statistic),
                    InputScalar::new(scales.near, statistic),
                    InputScalar::new(scales.far, statistic),
                    InputScalar::new(scales.epsilon, statistic),
                    blueprint,
                    form,
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
