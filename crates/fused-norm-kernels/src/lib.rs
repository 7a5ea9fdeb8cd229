//! RMSNorm and pRMSNorm over rows of numbers: forward and backward, on CPUs and GPUs.
//!
//! The crate knows rows, not tensors. A caller describes what to do with a [`Problem`], hands in
//! slices, or buffers of a CubeCL device, and gets an [`Error`] back, before anything is written or
//! queued, if they do not fit.
//!
//! ```
//! use fused_norm_kernels::{Problem, cpu};
//!
//! let problem = Problem::new(2, 4, 4, 1e-6)?;
//! let x = [1.0_f32, 2.0, 3.0, 4.0, -1.0, -2.0, -3.0, -4.0];
//! let y = cpu::forward(&problem, cpu::Rows::dense(&x, 4), cpu::Affine::None)?;
//! assert!((y[3] - 1.460593).abs() < 1e-6);
//! # Ok::<(), fused_norm_kernels::Error>(())
//! ```
//!
//! | module | question it answers |
//! |---|---|
//! | [`Problem`] | what is to be computed? |
//! | [`Error`] | why is it refused? |
//! | [`cost`] | how many bytes must it move? |
//! | [`cpu`] | how does a CPU compute it? |
//! | `cube` (feature `cube`) | how does a CubeCL device compute it? |
//!
//! # Features
//!
//! | feature | what it brings |
//! |---|---|
//! | `std` (default) | threads, and the instruction set picked at run time; without it `no_std` + `alloc` |
//! | `cube` | the kernels for CubeCL's runtimes; the caller brings the runtime |
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

pub mod cost;
pub mod cpu;
#[cfg(feature = "cube")]
pub mod cube;
mod error;
mod problem;

pub use error::Error;
pub use problem::{GateOrder, Problem, Rounding, stat_len};
