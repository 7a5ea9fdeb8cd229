//! The program from the outside: what it refuses, and what its runs leave.

mod bench;
#[cfg(any(feature = "cpu", feature = "wgpu"))]
mod devices;
mod disagreements;
#[cfg(target_os = "linux")]
mod disk;
mod refusals;
mod runs;
