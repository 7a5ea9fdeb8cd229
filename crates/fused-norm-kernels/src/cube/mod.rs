//! Kernels for every CubeCL runtime: CUDA, ROCm, Metal, Vulkan, WebGPU, and CPUs.
//!
//! ```text
//! Problem + types ─► RowClass ─┐
//!                              ├─ select ─► Blueprint ─► launch ─► kernels
//! DeviceProperties ─► DeviceLimits
//! ```
//!
//! [`forward`] and [`backward`] check a problem against its buffers, [`select`] the blueprint, and
//! queue the kernels: one a forward pass, at most two a backward pass. They return as soon as the
//! work is queued.

mod backward;
mod blueprint;
mod buffers;
mod device;
mod forward;
mod kernels;
mod launch;
pub mod offline;
pub mod routines;
mod select;
mod types;

pub use backward::{Backward, Gradients, Wanted, backward};
pub use blueprint::{Blueprint, Reach, Routine};
pub use buffers::{Affine, Parameter, Rows};
pub use device::DeviceLimits;
pub use forward::{Forward, Normalised, forward};
pub use routines::{Pass, prepare};
pub use select::{Mapping, RowClass, select};
pub use types::{address_type, reads_in_place, row_class, statistic_type, supports};
