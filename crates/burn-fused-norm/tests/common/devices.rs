//! The devices that this build offers.

use burn::tensor::Device;

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
