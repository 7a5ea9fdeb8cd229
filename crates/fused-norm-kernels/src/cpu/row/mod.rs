//! What happens to one row. Everything here is inlined into a task that `macerator` has compiled
//! for one instruction set; see [`super`].
//!
//! | file | question it answers |
//! |---|---|
//! | `block.rs` | how is a row cut, and what stands beside it column by column? |
//! | `values.rs` | which values does a row have, read or formed: a sum, a product? |
//! | `transform.rs` | where does what becomes of them go? |
//! | `statistic.rs` | what is a row's statistic, and how are sums along it taken? |
//! | `batch.rs` | and those of several short rows at once? |
//! | `forward.rs`, `backward.rs` | how does x become y, and dy dx? |
//! | `silu.rs`, `gate.rs` | what is a gate, and when is it computed? |
//! | `lines.rs`, `across.rs` | and where rows lie side by side: where are they, what are their statistics? |
//! | `cache.rs` | what are the caches told? |

mod across;
mod backward;
mod batch;
mod block;
mod cache;
mod forward;
mod gate;
mod lines;
mod silu;
mod statistic;
mod transform;
mod values;

pub(super) use across::{accumulate_each, correlate_each, rstd_of_each};
pub(super) use backward::{accumulate, correlate, input_gradient};
pub(super) use batch::{rows_at_once, rstd_of_batch};
pub(super) use block::{BLOCK, Discard, Ones, Same};
pub(super) use cache::{STREAM_BYTES, Streaming};
pub(super) use forward::{columns, normalise, normalise_compactly};
pub(super) use gate::{Scratch, open, open_with_slope};
pub(super) use lines::{EachRow, Kept, Line, TILE};
pub use silu::Decay;
pub(super) use statistic::rstd;
pub(super) use transform::{Copied, InPlace, Leaving, Memory, New};
pub(super) use values::{Formed, Multiplied, Product, Sum, SumAndNorm};
