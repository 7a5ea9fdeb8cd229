//! Which backends have the operations in this build, and what is said of the others.

use alloc::format;
use alloc::string::String;

use burn::backend::{Backend, Dispatch, DispatchDevice};
use burn::tensor::{DType, Device};

/// Panics in the name of `operation` if this build has it not for the device of the tensor `name`: Burn
/// has backends that no feature of this crate brings, and features that this crate must be given too.
pub(super) fn assert_there(operation: &str, name: &str, device: &Device) {
    if !is_there(device.as_dispatch()) {
        let backend = Dispatch::name(device.as_dispatch());
        let remedy = remedy(&backend, device.is_autodiff());
        panic!("{operation}: {name} is on {device:?}, {remedy}");
    }
}

/// Burn's variant of a backend exists for certain where this crate's feature of it is on.
fn is_there(device: &DispatchDevice) -> bool {
    match device {
        #[cfg(feature = "autodiff")]
        DispatchDevice::Autodiff(device) => is_there(device),
        #[cfg(feature = "flex")]
        DispatchDevice::Flex(_) => true,
        #[cfg(feature = "ndarray")]
        DispatchDevice::NdArray(_) => true,
        #[cfg(feature = "cube")]
        DispatchDevice::Cube(_) => true,
        #[allow(unreachable_patterns)]
        _ => false,
    }
}

/// Whether the backend of this device can do what it says of a float type.
#[cfg_attr(not(feature = "cube"), allow(clippy::only_used_in_recursion))]
pub(super) fn computes_in(device: &DispatchDevice, dtype: DType) -> bool {
    match device {
        #[cfg(feature = "autodiff")]
        DispatchDevice::Autodiff(device) => computes_in(device, dtype),
        #[cfg(feature = "cube")]
        DispatchDevice::Cube(device) => crate::backend::cube::computes_in(&device.client(), dtype),
        #[allow(unreachable_patterns)]
        _ => true,
    }
}

/// What helps where the backend of that name is not there.
fn remedy(backend: &str, autodiff: bool) -> String {
    let features = if autodiff && !cfg!(feature = "autodiff") {
        "autodiff"
    } else if backend.contains("cubecl") {
        "cpu, cuda, metal, rocm, vulkan, webgpu or wgpu"
    } else if backend.contains("flex") {
        "flex"
    } else if backend.contains("ndarray") {
        "ndarray"
    } else {
        return "expected Flex, NdArray or a CubeCL device".into();
    };
    format!("for which burn-fused-norm needs its feature {features}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_without_its_feature_is_told_which() {
        for (backend, features) in [
            ("dispatch<flex>", "flex"),
            ("dispatch<ndarray>", "ndarray"),
            (
                "dispatch<fusion<cubecl<wgpu<wgsl>>>>",
                "cpu, cuda, metal, rocm, vulkan, webgpu or wgpu",
            ),
        ] {
            assert_eq!(
                remedy(backend, false),
                format!("for which burn-fused-norm needs its feature {features}")
            );
        }
    }

    #[test]
    fn a_backend_without_any_feature_is_told_the_others() {
        for backend in ["dispatch<libtorch<cpu>>", "dispatch<remote>"] {
            let remedy = remedy(backend, false);
            assert_eq!(remedy, "expected Flex, NdArray or a CubeCL device");
        }
    }
}
