//! Kernels for every CubeCL runtime: CUDA, ROCm, Metal, Vulkan, WebGPU, and CPUs.
//!
//! ```text
//! Problem + types ─► RowClass ─┐
//!                              ├─ select ─► Blueprint ─┐
//! DeviceProperties ─► DeviceLimits                     ├─ launch ─► kernels
//!                  Problem + operand ────────► Form ───┘
//! ```
//!
//! [`forward`] and [`backward`] check a problem against its buffers, [`select`] the blueprint, and
//! queue the kernels: one a forward pass, at most two a backward pass. They return as soon as the
//! work is queued. [`interleaved_forward`] and [`interleaved_backward`] do the same for rows that lie
//! side by side, which have kernels of their own.

mod backward;
mod blueprint;
mod buffers;
mod conversions;
mod device;
mod form;
mod forward;
mod interleaved;
mod kernels;
mod launch;
pub mod offline;
mod operand;
mod plan;
pub mod routines;
mod scales;
mod select;
mod sides;
mod types;

pub use backward::{Backward, Gradients, Wanted, backward};
pub use blueprint::{Blueprint, Reach, Routine};
pub use buffers::{Affine, Parameter, Rows};
pub use device::DeviceLimits;
pub use form::{Form, OperandKind};
pub use forward::{Forward, Normalised, forward};
pub use interleaved::{
    Interleaved, InterleavedBackward, InterleavedForward, interleaved_backward, interleaved_forward,
};
pub use operand::{Gate, Operand};
pub use routines::{Pass, prepare};
pub use select::{Mapping, RowClass, select};
pub use types::{address_type, reads_in_place, row_class, statistic_type, supports};
