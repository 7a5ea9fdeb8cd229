//! What a device can do, as far as the mapping of a problem to it depends on that.

use cubecl::features::Plane;
use cubecl::ir::DeviceProperties;

/// The limits that [`select`](super::select) respects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceLimits {
    /// The smallest plane that a kernel may run with; `None` without plane operations.
    pub plane_size: Option<u32>,
    /// Units of a cube, at most.
    pub max_units: u32,
    /// Cubes of a launch, at most.
    pub max_cubes: u32,
    /// Bytes of shared memory a cube, at most.
    pub max_shared_memory: usize,
    /// Bytes that one load moves.
    pub load_bytes: usize,
    /// Elements of a vector, at most.
    pub max_vector_size: usize,
    /// Multiprocessors, where the runtime says how many.
    pub processors: Option<u32>,
    /// Units are CPU threads, each of which walks over all cubes.
    pub threads: bool,
}

impl DeviceLimits {
    /// WebGPU's guarantee: an adapter may claim more cubes on an axis than it accepts.
    const MAX_CUBES: u32 = 65_535;

    /// The limits of a device.
    pub fn of(properties: &DeviceProperties) -> Self {
        let hardware = &properties.hardware;
        let has_planes = properties.features.plane.contains(Plane::Ops);
        Self {
            plane_size: (has_planes && hardware.plane_size_min > 1)
                .then_some(hardware.plane_size_min),
            max_units: hardware.max_units_per_cube.min(hardware.max_cube_dim.0),
            max_cubes: hardware.max_cube_count.0.min(Self::MAX_CUBES),
            max_shared_memory: hardware.max_shared_memory_size,
            load_bytes: properties.io_width() as usize / 8,
            max_vector_size: hardware.max_vector_size,
            processors: hardware.num_streaming_multiprocessors,
            threads: hardware.num_cpu_cores.is_some(),
        }
    }

    /// These limits, none of them wider than `narrower`. What the device is stays: its plane size if
    /// it has any, processors, threads.
    pub(super) fn within(self, narrower: &Self) -> Self {
        Self {
            plane_size: self.plane_size.filter(|_| narrower.plane_size.is_some()),
            max_units: self.max_units.min(narrower.max_units),
            max_cubes: self.max_cubes.min(narrower.max_cubes),
            max_shared_memory: self.max_shared_memory.min(narrower.max_shared_memory),
            load_bytes: self.load_bytes.min(narrower.load_bytes),
            max_vector_size: self.max_vector_size.min(narrower.max_vector_size),
            processors: self.processors,
            threads: self.threads,
        }
    }
}

#[cfg(test)]
mod tests {
    use cubecl::features::Features;
    use cubecl::ir::{DeviceIdentity, HardwareProperties, MemoryDeviceProperties, VectorSize};

    use super::*;

    fn limits(plane_size_min: u32, plane_operations: bool) -> DeviceLimits {
        let hardware = HardwareProperties {
            load_width: 128,
            vector_register_count: None,
            plane_size_min,
            plane_size_max: 64,
            max_bindings: 1024,
            max_shared_memory_size: 48 * 1024,
            max_cube_count: (i32::MAX as u32, 65_535, 65_535),
            max_units_per_cube: 1024,
            max_cube_dim: (512, 1024, 64),
            num_streaming_multiprocessors: Some(7),
            num_tensor_cores: None,
            min_tensor_cores_dim: None,
            num_cpu_cores: None,
            last_level_cache_size: None,
            max_vector_size: VectorSize::MAX,
            cube_mma_reserved_shared_memory: 0,
        };
        let mut features = Features::default();
        if plane_operations {
            features.plane = Plane::Ops.into();
        }
        let identity = DeviceIdentity {
            name: "made up".into(),
            fingerprint: "made up".into(),
            physical: None,
        };
        DeviceLimits::of(&DeviceProperties::new(
            features,
            MemoryDeviceProperties::new(u64::MAX, 256),
            hardware,
            cubecl::profile::TimingMethod::Device,
            identity,
        ))
    }

    #[test]
    fn limits_are_those_of_the_device() {
        let of_device = limits(32, true);
        let expected = DeviceLimits {
            plane_size: Some(32),
            max_units: 512,
            max_cubes: 65_535,
            max_shared_memory: 48 * 1024,
            load_bytes: 16,
            max_vector_size: VectorSize::MAX,
            processors: Some(7),
            threads: false,
        };
        assert_eq!(of_device, expected);
        assert_eq!(limits(32, false).plane_size, None);
        assert_eq!(limits(1, true).plane_size, None);
    }
}
