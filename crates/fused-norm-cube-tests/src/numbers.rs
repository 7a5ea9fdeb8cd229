//! Numbers as the bytes that a device holds.

use cubecl::ir::{ElemType, FloatKind as CubeKind};
use fused_norm_testkit::FloatKind;
use half::{bf16, f16};

/// The device's name of a kind.
pub fn elem(kind: FloatKind) -> ElemType {
    ElemType::Float(match kind {
        FloatKind::F64 => CubeKind::F64,
        FloatKind::F32 => CubeKind::F32,
        FloatKind::F16 => CubeKind::F16,
        FloatKind::BF16 => CubeKind::BF16,
    })
}

/// The values in this kind.
pub fn bytes(kind: FloatKind, values: &[f64]) -> Vec<u8> {
    let values = values.iter();
    match kind {
        FloatKind::F64 => values.flat_map(|v| v.to_le_bytes()).collect(),
        FloatKind::F32 => values.flat_map(|v| (*v as f32).to_le_bytes()).collect(),
        FloatKind::F16 => values
            .flat_map(|v| f16::from_f64(*v).to_le_bytes())
            .collect(),
        FloatKind::BF16 => values
            .flat_map(|v| bf16::from_f64(*v).to_le_bytes())
            .collect(),
    }
}

/// The values that bytes of this kind hold.
pub fn values(kind: FloatKind, bytes: &[u8]) -> Vec<f64> {
    match kind {
        FloatKind::F64 => each(bytes, f64::from_le_bytes),
        FloatKind::F32 => each(bytes, |b| f32::from_le_bytes(b).into()),
        FloatKind::F16 => each(bytes, |b| f16::from_le_bytes(b).into()),
        FloatKind::BF16 => each(bytes, |b| bf16::from_le_bytes(b).into()),
    }
}

fn each<const N: usize>(bytes: &[u8], value: impl Fn([u8; N]) -> f64) -> Vec<f64> {
    bytes
        .as_chunks::<N>()
        .0
        .iter()
        .map(|bytes| value(*bytes))
        .collect()
}
