//! Devices, numbers and refusals that every test binary may use.
#![allow(dead_code)] // Each binary uses some of it.

pub mod devices;
pub mod layer;

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::tensor::{DType, Device, Tensor, TensorData};

/// The devices of the native CPU kernels.
pub fn cpu_devices() -> [Device; 2] {
    [Device::flex(), ndarray()]
}

/// Burn deprecates NdArray as a whole; it is supported for who still uses it.
#[allow(deprecated)]
pub fn ndarray() -> Device {
    Device::ndarray()
}

/// Of a float tensor, whatever its type.
pub fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

/// Those values for which two tensors are bit-equal.
pub fn bits<const D: usize>(tensor: Tensor<D>) -> Vec<u64> {
    values(tensor).into_iter().map(f64::to_bits).collect()
}

/// A tensor of f32 that holds `at` of the flat index.
pub fn filled<const D: usize>(
    shape: [usize; D],
    device: &Device,
    at: impl Fn(usize) -> f64,
) -> Tensor<D> {
    let values: Vec<f64> = (0..shape.iter().product()).map(at).collect();
    Tensor::from_data(TensorData::new(values, shape), (device, DType::F32))
}

/// Every element of `found` is `expected` within `relative` of the largest.
#[track_caller]
pub fn assert_near(what: &str, found: &[f64], expected: &[f64], relative: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected
        .iter()
        .fold(0.0_f64, |most, value| most.max(value.abs()));
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            (found - expected).abs() <= relative * largest,
            "{what}, element {index}: {found:e}, expected {expected:e}"
        );
    }
}

/// The text with which `mistake` is refused, on this thread.
#[track_caller]
pub fn refusal<T>(mistake: impl FnOnce() -> T) -> String {
    let panic = catch_unwind(AssertUnwindSafe(mistake))
        .err()
        .expect("a refusal");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast::<&str>().expect("a text").to_string(),
    }
}

/// Tells of something that is left out. Not `print!`, which a test runner shows for failures only.
pub fn skipped(text: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(format!("skipped: {text}\n").as_bytes());
}
