//! The devices that a benchmark runs on.

use burn::tensor::Device;

/// Opens a device: when a line asks for it.
pub type Make = fn() -> Device;

/// Flex, NdArray, and those of the cargo features.
pub fn devices() -> Vec<(&'static str, Make)> {
    let mut devices = vec![("flex", Device::flex as Make)];
    #[allow(deprecated)] // By Burn as a whole.
    devices.push(("ndarray", Device::ndarray));
    devices.extend(cube_devices());
    devices
}

/// The devices of the cargo features, which are CubeCL's.
pub fn cube_devices() -> Vec<(&'static str, Make)> {
    vec![
        #[cfg(feature = "cpu")]
        ("cpu", Device::cpu as Make),
        #[cfg(feature = "wgpu")]
        ("wgpu", || Device::wgpu(Default::default())),
        #[cfg(feature = "vulkan")]
        ("vulkan", || Device::vulkan(Default::default())),
        #[cfg(feature = "metal")]
        ("metal", || Device::metal(Default::default())),
        #[cfg(feature = "webgpu")]
        ("webgpu", || Device::webgpu(Default::default())),
        #[cfg(feature = "cuda")]
        ("cuda", || Device::cuda(0)),
        #[cfg(feature = "rocm")]
        ("rocm", || Device::rocm(0)),
    ]
}

/// Whether the device runs the kernels of `fused_norm_kernels::cpu`.
pub fn is_native(name: &str) -> bool {
    matches!(name, "flex" | "ndarray")
}

/// What is returned is there when the device has finished.
///
/// # Panics
///
/// If the device fails.
pub fn finished<T>(device: &Device, value: T) -> T {
    device.sync().expect("the device finishes");
    value
}
