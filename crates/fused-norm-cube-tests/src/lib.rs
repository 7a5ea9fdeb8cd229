//! The CubeCL kernels without Burn: on which devices, and as what the judge takes them.
//!
//! The tests of this package force every routine over the catalogue, count launches and compiled
//! kernels, and read the machine code that a GPU would run. Without a runtime's feature (`cpu`,
//! `wgpu`, `vulkan`, `metal`, `webgpu`, `cuda`, `rocm`) or `codegen` there is nothing here, and the tests
//! say so.
#![cfg(feature = "cube")]

mod devices;
mod kernels;
mod numbers;
#[cfg(feature = "codegen")]
pub mod nvidia;
pub mod reference;
pub mod side_by_side;
pub mod trial;

pub use devices::devices;
pub use kernels::{Kernels, of_the_mapping};
pub use numbers::{bytes, elem, values};
