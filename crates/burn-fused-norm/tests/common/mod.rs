//! Devices that every test binary may use.
#![allow(dead_code)] // Each binary uses some of it.

use burn::tensor::Device;

/// The devices of the native CPU kernels.
pub fn cpu_devices() -> [Device; 2] {
    [Device::flex(), ndarray()]
}

/// Burn deprecates NdArray as a whole; it is supported for who still uses it.
#[allow(deprecated)]
pub fn ndarray() -> Device {
    Device::ndarray()
}
