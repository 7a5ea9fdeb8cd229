//! Operations: one folder each, with the same file names in every folder.
//!
//! | file | question it answers |
//! |---|---|
//! | `mod.rs` | what does the user call, and what is refused? |
//! | `contract.rs` | what does every backend owe? |
//! | `options.rs` | what does the user set, and in which range? (not where it is that of `rms_norm`) |
//! | `decomposed.rs` | what does it mean, in primitive tensor operations? |
//! | `autodiff.rs` | what is saved, and how does the gradient flow? |
//! | `fusion.rs` | what shapes and types come out of a lazy call? |
//! | `flex.rs`, `ndarray.rs`, `cube.rs` | what runs on this backend? |
//! | `native.rs` | what do the backends that run the CPU kernels share? |

pub mod add_rms_norm;
mod axis;
mod backends;
mod checks;
pub mod gated_rms_norm;
pub mod rms_norm;
