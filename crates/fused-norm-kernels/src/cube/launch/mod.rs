//! The launches: the only place where a kernel meets buffers.

mod backward;
mod forward;
mod interleaved;
mod narrow;

use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::server::Handle;

pub(super) use backward::backward;
pub(super) use forward::forward;
pub(super) use interleaved::{
    backward as interleaved_backward, forward as interleaved_forward,
    parameters as interleaved_parameters,
};
pub(super) use narrow::narrow_to_bf16;

use super::Parameter;
use crate::Problem;

/// A buffer of `len` elements, as an argument.
fn buffer(handle: Handle, len: usize) -> BufferArg {
    // SAFETY: `check_len` has compared the handle with the length (inputs), or the handle was made
    // with that length (outputs).
    unsafe { BufferArg::from_raw_parts(handle, len) }
}

/// gamma or beta, as an argument.
fn parameter(parameter: Option<&Parameter>, problem: &Problem) -> Option<BufferArg> {
    parameter.map(|parameter| buffer(parameter.handle.clone(), problem.gamma_len()))
}

fn inverse_count(problem: &Problem, statistic: ElemType) -> InputScalar {
    InputScalar::new(1.0 / problem.stat_len() as f64, statistic)
}
