//! Benchmarks of burn-fused-norm against Burn's own layers and other libraries.
//!
//! | file | question |
//! |---|---|
//! | `benches/forward.rs` | how long does a forward pass take, beside a copy of its bytes and beside others? |
//! | `benches/training.rs` | and with the backward pass, through autodiff; and the bare kernel? |
//! | `benches/train_step.rs` | what does it save in a Transformer block? |
//! | `benches/routines.rs` | is the CubeCL routine that is selected the fastest? |
//! | `src/bin/report/` | the tables and plots of the documentation, from the results files |
//! | `src/bin/gpu/` | everything that is to be known on a machine with an NVIDIA GPU |
//!
//! `benches/run.sh` runs all of it but the last.

pub mod cases;
pub mod contest;
pub mod devices;
pub mod record;
