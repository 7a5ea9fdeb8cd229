//! The devices that this build offers.

use cubecl::Device;

type Make = fn() -> Device;

/// Name, as in `NORM_DEVICES`, and device.
///
/// # Panics
///
/// If `NORM_DEVICES` names a CubeCL device that is not there.
pub fn devices() -> Vec<(&'static str, Device)> {
    let offered: [(&str, bool, Make); 4] = [
        ("cpu", cfg!(feature = "cpu"), || there(Device::cpu())),
        (
            "wgpu",
            cfg!(all(feature = "wgpu", not(feature = "vulkan"))),
            || there(Device::wgpu(Default::default())),
        ),
        ("vulkan", cfg!(feature = "vulkan"), || {
            there(Device::vulkan(Default::default()))
        }),
        ("cuda", cfg!(feature = "cuda"), || there(Device::cuda(0))),
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
