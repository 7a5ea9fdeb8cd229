//! The program from the outside: what it refuses, and what its runs leave.

mod bench;
#[cfg(any(
    feature = "ndarray",
    feature = "cpu",
    feature = "wgpu",
    feature = "vulkan",
    feature = "metal",
    feature = "webgpu",
    feature = "cuda",
    feature = "rocm"
))]
mod devices;
mod disagreements;
#[cfg(target_os = "linux")]
mod disk;
mod refusals;
mod runs;
