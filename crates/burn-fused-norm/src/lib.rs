//! RMSNorm and pRMSNorm for [Burn](https://burn.dev): a drop-in module, fused kernels on GPUs and CPUs,
//! and a hand-written backward.
//!
//! ```
//! use burn::tensor::{Device, Tensor};
//! use burn_fused_norm::RmsNormConfig; // instead of burn::nn::RmsNormConfig
//!
//! let device = Device::flex();
//! let norm = RmsNormConfig::new(512).init(&device);
//! let y = norm.forward(Tensor::<3>::ones([8, 128, 512], &device));
//! assert_eq!(y.dims(), [8, 128, 512]);
//! ```
//!
//! # The way of a call
//!
//! ```text
//!  user model
//!     │  RmsNorm::forward(x)              nn/                          parameters, config, display; no mathematics
//!     ▼
//!  rms_norm(x, gamma, beta, options)      ops/rms_norm/mod.rs          the door: documentation and every user-facing check
//!     ▼
//!  Dispatch::rms_norm                     ops/rms_norm/contract.rs     what every backend owes: one #[backend_extension] trait
//!     ├─ tracked tensor ─► Autodiff<B>    ops/rms_norm/autodiff.rs     node, saved state, backward
//!     ├─ lazy tensor ────► Fusion<B>      ops/rms_norm/fusion.rs       output shapes and types only
//!     ├─ Flex ───────────► flex.rs ────┐
//!     ├─ NdArray ────────► ndarray.rs ─┤
//!     ├─ CubeBackend ────► cube.rs ────┤
//!     └─ anything else ──► decomposed  │  ops/rms_norm/decomposed.rs   the operation in primitive tensor ops: default body
//!                                      ▼
//!                          backend/{flex,ndarray,cube}.rs                                   tensors as rows
//!                                      ▼
//!                          fused_norm_kernels::{cpu,cube}                                   rows, never tensors
//! ```
//!
//! # Features
//!
//! | feature | what it brings |
//! |---|---|
//! | `std` (default) | threads, and the instruction set picked at run time; without it `no_std` + `alloc` |
//! | `autodiff` (default) | the hand-written backward for tensors on an autodiff device |
//! | `fusion` (default) | lazy tensors of the CubeCL backends; must follow Burn's own `fusion` |
//! | `flex`, `ndarray` | native kernels on that CPU backend |
//! | `wgpu`, `vulkan`, `metal`, `webgpu`, `cuda`, `rocm`, `cpu` | fused kernels on that CubeCL backend |
//!
//! No backend is enabled by default, as in Burn.
#![cfg_attr(not(feature = "std"), no_std)]
// Without a backend the generated dispatch has no arm that could use its arguments.
#![cfg_attr(
    not(any(feature = "flex", feature = "ndarray", feature = "cube")),
    allow(unused_variables)
)]

extern crate alloc;

mod backend;
pub mod nn;
pub mod ops;

pub use nn::{PerHeadRmsNorm, PerHeadRmsNormConfig, RmsNorm, RmsNormConfig};
pub use ops::add_rms_norm::add_rms_norm;
pub use ops::gated_rms_norm::{GateOrder, gated_rms_norm};
pub use ops::rms_norm::{RmsNormOptions, Rounding, per_head_rms_norm, rms_norm};

/// Compiles and runs the code of the repository's documents.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/architecture.md")]
    struct Architecture;
    #[doc = include_str!("../../../docs/adding-a-variant.md")]
    struct AddingAVariant;
    #[doc = include_str!("../../../docs/math.md")]
    struct Math;
    #[doc = include_str!("../../../docs/numerics.md")]
    struct Numerics;
    #[doc = include_str!("../../../docs/performance.md")]
    struct Performance;
}
