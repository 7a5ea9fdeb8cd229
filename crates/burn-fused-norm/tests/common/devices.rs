//! The devices that this build offers.

use std::sync::Mutex;

use burn::tensor::{DType, Device, Tensor};

/// Name, as in `NORM_DEVICES`, and device.
fn available() -> Vec<(&'static str, Device)> {
    vec![
        #[cfg(feature = "flex")]
        ("flex", Device::flex()),
        #[cfg(feature = "ndarray")]
        ("ndarray", super::ndarray()),
        #[cfg(feature = "cpu")]
        ("cpu", Device::cpu()),
        #[cfg(feature = "wgpu")]
        ("wgpu", Device::wgpu(Default::default())),
        #[cfg(feature = "vulkan")]
        ("vulkan", Device::vulkan(Default::default())),
        #[cfg(feature = "metal")]
        ("metal", Device::metal(Default::default())),
        #[cfg(feature = "webgpu")]
        ("webgpu", Device::webgpu(Default::default())),
        #[cfg(feature = "cuda")]
        ("cuda", Device::cuda(0)),
        #[cfg(feature = "rocm")]
        ("rocm", Device::rocm(0)),
    ]
}

/// The devices named in `NORM_DEVICES`, or all.
///
/// # Panics
///
/// If one is named that this build does not offer.
pub fn selected() -> Vec<(&'static str, Device)> {
    let available = available();
    let Ok(wanted) = std::env::var("NORM_DEVICES") else {
        return available;
    };
    wanted
        .split(',')
        .map(|name| {
            let found = available.iter().find(|(device, _)| *device == name.trim());
            found.cloned().unwrap_or_else(|| {
                let names: Vec<_> = available.iter().map(|(name, _)| *name).collect();
                panic!("NORM_DEVICES names {name}, expected one of {names:?} (cargo features)")
            })
        })
        .collect()
}

/// Whether the device runs the kernels of `fused_norm_kernels::cpu`.
pub fn is_native(name: &str) -> bool {
    matches!(name, "flex" | "ndarray")
}

/// Whether the device computes in a type: of bf16 it is asked for. CubeCL's CPU runtime has it on every
/// processor, it says; where the processor has no instruction for it and the C library no function, kernels
/// with bf16 are left out, and what they should have written is anything.
pub fn computes(device: &Device, dtype: DType) -> bool {
    static DOUBLED: Mutex<Vec<(Device, bool)>> = Mutex::new(Vec::new());
    if dtype != DType::BF16 || !device.supports_dtype(dtype) {
        return device.supports_dtype(dtype);
    }
    let mut doubled = DOUBLED.lock().unwrap_or_else(|broken| broken.into_inner());
    if let Some((_, right)) = doubled.iter().find(|(asked, _)| asked == device) {
        return *right;
    }
    let numbers = Tensor::<1>::from_data([1.5, -0.25, 3.0], (device, dtype)) * 2.0;
    let right = numbers.into_data().iter::<f64>().eq([3.0, -0.5, 6.0]);
    doubled.push((device.clone(), right));
    right
}
