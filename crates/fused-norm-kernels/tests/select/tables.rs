//! Row lengths, types and devices that blueprints are made for.

use cubecl::ir::{ElemType, FloatKind};
use fused_norm_kernels::cube::{DeviceLimits, RowClass, row_class};

/// Switch points of the routines, their neighbours, primes, and lengths that people use.
fn row_lens() -> Vec<usize> {
    let mut lens = vec![
        1,
        2,
        3,
        5,
        7,
        31,
        33,
        63,
        65,
        100_003,
        65_537,
        262_144,
        1 << 20,
    ];
    for power in 5..=18 {
        let len = 1 << power;
        lens.extend([len - 1, len, len + 1, len / 4 * 3, len + 8]);
    }
    lens.extend([640, 768, 2560, 3584, 5120, 7168, 14_336]);
    lens
}

pub fn devices() -> Vec<DeviceLimits> {
    let mut devices = vec![];
    for plane_size in [Some(4), Some(8), Some(32), Some(64), None] {
        // No whole number of planes fits into 200.
        for max_units in [200, 256, 768, 1024] {
            for max_shared_memory in [16 * 1024, 48 * 1024] {
                for (load_bytes, max_vector_size) in [(16, usize::MAX), (16, 4)] {
                    devices.push(DeviceLimits {
                        plane_size,
                        max_units,
                        max_cubes: 65_535,
                        max_shared_memory,
                        load_bytes,
                        max_vector_size,
                        processors: Some(132),
                        threads: false,
                    });
                }
            }
        }
    }
    devices
}

pub fn threads(units: u32) -> DeviceLimits {
    DeviceLimits {
        plane_size: None,
        max_units: units,
        max_cubes: 65_535,
        max_shared_memory: 32 * 1024,
        load_bytes: 64,
        max_vector_size: usize::MAX,
        processors: None,
        threads: true,
    }
}

pub fn classes() -> impl Iterator<Item = RowClass> {
    let kinds = [
        FloatKind::F64,
        FloatKind::F32,
        FloatKind::F16,
        FloatKind::BF16,
    ];
    row_lens()
        .into_iter()
        .flat_map(move |len| kinds.map(|kind| row_class(len, ElemType::Float(kind))))
        .flat_map(|class| [class, class.with_inputs(2)])
}

pub fn gpu() -> DeviceLimits {
    DeviceLimits {
        plane_size: Some(32),
        max_units: 1024,
        max_cubes: 65_535,
        max_shared_memory: 48 * 1024,
        load_bytes: 16,
        max_vector_size: usize::MAX,
        processors: Some(132),
        threads: false,
    }
}
