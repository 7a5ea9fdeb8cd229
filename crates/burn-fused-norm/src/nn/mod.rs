//! Modules: parameters, configuration, display. The mathematics is in [`ops`](crate::ops).

mod rms_norm;

pub use rms_norm::{RmsNorm, RmsNormConfig};
