//! The devices that `--device` names.

use std::panic;

use burn::tensor::{Device, Tensor};
use clap::ValueEnum;

use crate::error::Error;

/// A backend of Burn. Each but Flex is compiled in by the feature flag of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceName {
    /// Pure Rust on the processor
    Flex,
    /// The older pure Rust backend
    Ndarray,
    /// Any graphics processor, the best API that it has
    Wgpu,
    /// A graphics processor through Vulkan
    Vulkan,
    /// A graphics processor through Metal
    Metal,
    /// A graphics processor through WebGPU
    Webgpu,
    /// An NVIDIA graphics processor
    Cuda,
    /// An AMD graphics processor
    Rocm,
    /// The processor, through CubeCL's compiler
    Cpu,
}

/// Opens the device of that name, or Flex.
pub fn open(name: Option<DeviceName>) -> Result<Device, Error> {
    name.unwrap_or(DeviceName::Flex).open()
}

impl DeviceName {
    /// Opens the device.
    fn open(self) -> Result<Device, Error> {
        let name = self.to_possible_value().expect("no variant is skipped");
        let name = name.get_name();
        let device = self.device().ok_or_else(|| {
            let feature = format!("not compiled in; build with `--features {name}`");
            Error::option("device", name, feature)
        })?;
        if works(&device) {
            Ok(device)
        } else {
            Err(Error::option("device", name, "not found on this machine"))
        }
    }

    fn device(self) -> Option<Device> {
        match self {
            Self::Flex => Some(Device::flex()),
            // Burn has deprecated this backend but still ships it.
            #[cfg(feature = "ndarray")]
            #[allow(deprecated)]
            Self::Ndarray => Some(Device::ndarray()),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => Some(Device::wgpu(Default::default())),
            #[cfg(feature = "vulkan")]
            Self::Vulkan => Some(Device::vulkan(Default::default())),
            #[cfg(feature = "metal")]
            Self::Metal => Some(Device::metal(Default::default())),
            #[cfg(feature = "webgpu")]
            Self::Webgpu => Some(Device::webgpu(Default::default())),
            #[cfg(feature = "cuda")]
            Self::Cuda => Some(Device::cuda(0)),
            #[cfg(feature = "rocm")]
            Self::Rocm => Some(Device::rocm(0)),
            #[cfg(feature = "cpu")]
            Self::Cpu => Some(Device::cpu()),
            #[allow(unreachable_patterns)]
            _ => None,
        }
    }
}

/// Whether a tensor can be made and read. A backend without its driver panics on first use.
fn works(device: &Device) -> bool {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let one = panic::catch_unwind(|| Tensor::<1>::ones([1], device).try_into_scalar::<f32>());
    panic::set_hook(hook);
    matches!(one, Ok(Ok(1.0)))
}
