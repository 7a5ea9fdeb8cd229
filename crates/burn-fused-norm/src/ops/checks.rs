//! What every operation refuses, each in its own name: on the caller's thread, before anything is
//! queued.

use burn::backend::{Backend, DTypeUsage, Dispatch};
use burn::tensor::{DType, Device, Tensor};

use super::backends;
use super::rms_norm::Affine;

/// The length of the axis that is normalised, counted from the last.
pub(super) fn d_model<const D: usize>(operation: &str, x: &Tensor<D>, axis: usize) -> usize {
    assert!(
        axis < D,
        "{operation}: axis is {axis} from the last, x has {D} axes"
    );
    let d_model = x.shape()[D - 1 - axis];
    match axis {
        0 => assert!(
            d_model > 0,
            "{operation}: the last axis of x is empty ({:?}), expected at least 1 element",
            x.dims()
        ),
        _ => assert!(
            d_model > 0,
            "{operation}: axis {axis} from the last of x is empty ({:?}), expected at least 1 element",
            x.dims()
        ),
    }
    let device = x.device();
    backends::assert_there(operation, "x", &device);
    assert_float(operation, "x", x, &device);
    d_model
}

/// gamma and beta of `d_model` values as what is done to the normalised values.
pub(super) fn affine<const D: usize>(
    operation: &str,
    x: &Tensor<D>,
    gamma: Option<Tensor<1>>,
    beta: Option<Tensor<1>>,
    d_model: usize,
) -> Affine<Dispatch> {
    for (name, parameter) in [("gamma", &gamma), ("beta", &beta)] {
        if let Some(parameter) = parameter {
            let [len] = parameter.shape().dims();
            assert!(
                len == d_model,
                "{operation}: {name} has {len} elements, x has d_model {d_model}"
            );
            assert_beside(operation, name, parameter, x);
        }
    }
    assert!(
        gamma.is_some() || beta.is_none(),
        "{operation}: beta is given without gamma, expected both"
    );
    Affine::of(
        gamma.map(Tensor::into_dispatch),
        beta.map(Tensor::into_dispatch),
    )
}

/// A second activation has x's shape and type, and lies beside it.
pub(super) fn assert_like_x<const D: usize>(
    operation: &str,
    name: &str,
    tensor: &Tensor<D>,
    x: &Tensor<D>,
) {
    let (found, expected) = (tensor.dims(), x.dims());
    assert!(
        found == expected,
        "{operation}: {name} has shape {found:?}, x has {expected:?}"
    );
    let (found, expected) = (tensor.dtype(), x.dtype());
    assert!(
        found == expected,
        "{operation}: {name} has type {found:?}, x has {expected:?}"
    );
    assert_beside(operation, name, tensor, x);
}

/// On x's device, which has the operation, and of a float type that it has.
pub(super) fn assert_beside<const P: usize, const D: usize>(
    operation: &str,
    name: &str,
    tensor: &Tensor<P>,
    x: &Tensor<D>,
) {
    let (found, expected) = (tensor.device(), x.device());
    backends::assert_there(operation, name, &found);
    assert!(
        found == expected,
        "{operation}: {name} is on {found:?}, x is on {expected:?}"
    );
    assert_float(operation, name, tensor, &found);
}

/// Of a float type that the device has.
fn assert_float<const D: usize>(operation: &str, name: &str, tensor: &Tensor<D>, device: &Device) {
    let dtype = tensor.dtype();
    assert!(
        matches!(
            dtype,
            DType::F64 | DType::F32 | DType::Flex32 | DType::F16 | DType::BF16
        ),
        "{operation}: {name} has type {dtype:?}, expected F64, F32, Flex32, F16 or BF16"
    );
    // Every device has f32. A kernel of a type that a device lacks would fail in the queue, where a
    // failure is only logged.
    if dtype != DType::F32 {
        assert!(
            Dispatch::dtype_usage(device.as_dispatch(), dtype).contains(DTypeUsage::Storage)
                && backends::computes_in(device.as_dispatch(), dtype),
            "{operation}: {name} has type {dtype:?}, which {device:?} lacks"
        );
    }
}
