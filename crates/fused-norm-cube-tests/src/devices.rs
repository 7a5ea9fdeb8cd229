//! The devices that this build offers.

use cubecl::Device;

type Make = fn() -> Device;

/// Name, as in `NORM_DEVICES`, and device.
///
/// # Panics
///
/// If `NORM_DEVICES` names a CubeCL device that is not there.
pub fn devices() -> Vec<(&'static str, Device)> {
    let offered: [(&str, bool, Make); 7] = [
        ("cpu", cfg!(feature = "cpu"), || there(Device::cpu())),
        ("wgpu", cfg!(feature = "wgpu"), || {
            there(Device::wgpu(Default::default()))
        }),
        ("vulkan", cfg!(feature = "vulkan"), || {
            there(Device::vulkan(Default::default()))
        }),
        // As Burn's: through wgpu.
        ("metal", cfg!(feature = "metal"), || {
            there(Device::metal_msl(Default::default()))
        }),
        ("webgpu", cfg!(feature = "webgpu"), || {
            there(Device::webgpu(Default::default()))
        }),
        ("cuda", cfg!(feature = "cuda"), || there(Device::cuda(0))),
        ("rocm", cfg!(feature = "rocm"), || there(Device::rocm(0))),
    ];
    let wanted = std::env::var("NORM_DEVICES").ok();
    offered
        .into_iter()
        .filter(|(name, built, _)| {
            let named = wanted
                .as_ref()
                .map(|wanted| wanted.split(',').any(|wanted| wanted.trim() == *name));
            assert!(
                *built || named != Some(true),
                "NORM_DEVICES names {name}, which this build lacks"
            );
            *built && named.unwrap_or(true)
        })
        .map(|(name, _, make)| (name, make()))
        .collect()
}

fn there(device: Result<Device, impl std::fmt::Display>) -> Device {
    device.unwrap_or_else(|error| panic!("{error}"))
}
