//! The kernels: rows to rows. Each says what its unit of work is; the mapping to units is the
//! [`Blueprint`](super::Blueprint)'s.
//!
//! Kernels index without checks. Every index is below `rows`, `row_vectors`, `gamma_rows`, or the number
//! of partial sums, times the matching pitch; the launcher checks that the buffers hold as much.
// The macro's launchers have one argument for each of the kernel's, and no documentation of ours. What
// is expanded to device code must be written in what the macro knows: no `is_multiple_of`, no `||` that
// would evaluate a bound where there is none, no iterators.
#![allow(
    missing_docs,
    clippy::too_many_arguments,
    clippy::manual_is_multiple_of,
    clippy::if_same_then_else,
    clippy::needless_range_loop,
    clippy::collapsible_if
)]

mod affine;
mod combine;
mod exponential;
mod gate;
mod group;
mod inputs;
mod operand;
mod squares;
mod straddling;
mod sums;
mod vectors;

pub(super) mod backward_resident;
pub(super) mod backward_streamed;
pub(super) mod columns;
pub(super) mod forward_resident;
pub(super) mod forward_streamed;
pub(super) mod interleaved;
pub(super) mod narrow;
pub(super) mod reduce;
