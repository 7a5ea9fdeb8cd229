//! The kernels on the CPU: SIMD within a row, threads across rows.
//!
//! | file | question it answers |
//! |---|---|
//! | `forward.rs`, `backward.rs` | what is the entry, what does it check, who computes which rows? |
//! | `add.rs` | the same, where a residual is added first? |
//! | `gated/` | the same, beside a gate? |
//! | `interleaved/` | the same, where the rows lie side by side? |
//! | `affine.rs` | which of gamma and beta are there? |
//! | `factors.rs` | what becomes of gamma and beta before the first row, and which row takes which of theirs? |
//! | `sums.rs` | how do dgamma and dbeta come together? |
//! | `row/` | what happens to one row? |
//! | `element.rs` | which types can a row have, and in which type is it computed? |
//! | `convert.rs` | how are f16 and bf16 widened and rounded, many at once? |
//! | `f16c.rs` | and f16 where the processor has instructions for it? |
//! | `instances.rs` | what is compiled here, and not in every crate that calls it? |
//! | `rows.rs` | where does each row lie in a buffer? |
//! | `split.rs` | how is the work cut into tasks, and when is a second thread worth it? |
//! | `threads.rs` | how do several threads share the tasks? |
//!
//! A row is worked on in blocks of a fixed number of elements, loaded into an array. The loops over
//! such arrays have constant lengths, so the compiler turns them into SIMD of whatever width the
//! processor has: `macerator` picks the instruction set at run time, once a task. Every element goes
//! through a block, the last ones of a row through one padded with zeros, so the result does not
//! depend on where a row starts, how many rows there are, or how many threads run. Of rows that lie
//! side by side a block has one element each.

mod add;
mod affine;
mod backward;
mod convert;
mod element;
mod f16c;
mod factors;
mod forward;
mod gated;
mod instances;
mod interleaved;
mod row;
mod rows;
mod split;
mod sums;
#[cfg(feature = "std")]
mod threads;

#[cfg(test)]
mod tests;

pub use add::{Added, add_forward};
pub use affine::Affine;
pub use backward::{Gradients, Wanted, backward, backward_in_place};
pub use element::{Element, Statistic};
pub use forward::{Normalised, forward, forward_in_place, forward_with_rstd};
pub use gated::{Gate, GatedGradients, GatedWanted, gated_backward, gated_forward};
pub use interleaved::{Interleaved, interleaved_backward, interleaved_forward};
pub use rows::Rows;
