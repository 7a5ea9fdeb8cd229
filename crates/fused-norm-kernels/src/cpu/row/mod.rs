//! What happens to one row. Everything here is inlined into a task that `macerator` has compiled
//! for one instruction set; see [`super`].

mod backward;
mod block;
mod cache;
mod forward;
mod statistic;

pub(super) use backward::{accumulate, correlate, input_gradient};
pub(super) use block::{Copied, Discard, InPlace, Ones, Streamed};
pub(super) use cache::{STREAM_BYTES, fence};
pub(super) use forward::normalise;
pub(super) use statistic::rstd;
