//! CubeCL tensors as rows and back.

use alloc::vec::Vec;

use burn::backend::ops::FloatTensorOps;
use burn::tensor::{DType, Shape};
use burn_cubecl::CubeBackend;
use burn_cubecl::cubecl::client::Client;
use burn_cubecl::cubecl::ir::{ElemType, FloatKind};
use burn_cubecl::cubecl::server::Handle;
use burn_cubecl::kernel::{into_contiguous, untile};
use burn_cubecl::tensor::CubeTensor;
use fused_norm_kernels::cube::{Interleaved, Parameter, Rows, reads_in_place, supports};

use super::interleaving::Interleaving;
use super::layout::row_pitch;

/// The kernels' name of a tensor's type, if its device can compute in that.
pub(crate) fn elem(tensor: &CubeTensor) -> Option<ElemType> {
    kept_as(tensor.dtype).filter(|&elem| supports(&tensor.client, elem))
}

/// Whether the kernels compute in a type on the device of this client.
pub(crate) fn computes_in(client: &Client, dtype: DType) -> bool {
    kept_as(dtype).is_some_and(|elem| supports(client, elem))
}

/// What the elements are in memory. Flex32 is kept in 32 bits, and is f32 to the kernels.
fn kept_as(dtype: DType) -> Option<ElemType> {
    let kind = match dtype {
        DType::F64 => FloatKind::F64,
        DType::F32 | DType::Flex32 => FloatKind::F32,
        DType::F16 => FloatKind::F16,
        DType::BF16 => FloatKind::BF16,
        _ => return None,
    };
    Some(ElemType::Float(kind))
}

/// Refuses tensors that are kept in another type than the kernels are told: these would read them as
/// nonsense. A `dy` that comes back to Flex32 from f32 is f32, as Burn's cast between the two gives the same
/// tensor.
pub(crate) fn assert_types(operation: &str, tensors: &[(&str, &CubeTensor, ElemType)]) {
    for (name, tensor, expected) in tensors {
        assert!(
            kept_as(tensor.dtype) == Some(*expected),
            "{operation}: {name} has type {:?}, expected {expected}",
            tensor.dtype
        );
    }
}

/// A tensor whose last axis is dense and whose rows have one pitch that the device can read.
pub(crate) struct RowTensor {
    tensor: CubeTensor,
    elem: ElemType,
    pitch: usize,
}

impl RowTensor {
    /// Rows of `row_len` elements, which divides the last axis. Copies what has no such rows; other
    /// views are taken as they are. Storage tiles become rows.
    pub(crate) fn new(tensor: CubeTensor, elem: ElemType, row_len: usize) -> Self {
        let tensor = untile(tensor);
        let pitch = row_pitch(tensor.meta.shape(), &strides(&tensor), row_len)
            .filter(|&pitch| reads_in_place(&tensor.client, elem, row_len, pitch));
        match pitch {
            Some(pitch) => Self {
                tensor,
                elem,
                pitch,
            },
            None => Self {
                tensor: into_contiguous(tensor),
                elem,
                pitch: row_len,
            },
        }
    }

    pub(crate) fn rows(&self) -> Rows {
        Rows {
            handle: self.tensor.handle.clone(),
            elem: self.elem,
            pitch: self.pitch,
        }
    }

    pub(crate) fn shape(&self) -> Shape {
        self.tensor.meta.shape().clone()
    }

    /// The rows are dense and nobody else can see them.
    pub(crate) fn is_unique_dense(&self) -> bool {
        self.tensor.can_mut() && self.tensor.is_contiguous()
    }

    /// A dense tensor of this one's shape and type.
    pub(crate) fn like(&self, handle: Handle) -> CubeTensor {
        self.beside(handle, self.shape(), self.tensor.dtype)
    }

    /// A dense tensor beside this one.
    pub(crate) fn beside(&self, handle: Handle, shape: Shape, dtype: DType) -> CubeTensor {
        dense(&self.tensor, handle, shape, dtype)
    }
}

/// How the tensor's rows lie side by side, if they do.
pub(crate) fn interleaving_of(tensor: &CubeTensor) -> Option<Interleaving> {
    Interleaving::of(tensor.meta.shape(), &strides(tensor))
}

/// A tensor whose rows lie side by side.
pub(crate) fn interleaved(
    tensor: &CubeTensor,
    elem: ElemType,
    interleaving: Interleaving,
) -> Interleaved {
    Interleaved {
        handle: tensor.handle.clone(),
        elem,
        inner: interleaving.inner,
        pitch: interleaving.pitch,
    }
}

/// Rows that lie side by side as a tensor of the shape and type of `origin`.
pub(crate) fn interleaved_tensor(
    origin: &CubeTensor,
    handle: Handle,
    interleaving: Interleaving,
) -> CubeTensor {
    let shape = origin.meta.shape();
    let base = dense(origin, handle, interleaving.base_shape(shape), origin.dtype);
    CubeBackend::float_permute(base, &interleaving.permutation(shape.num_dims()))
}

fn strides(tensor: &CubeTensor) -> Vec<isize> {
    let strides = tensor.meta.strides().iter();
    strides.map(|&stride| stride as isize).collect()
}

/// gamma or beta: a dense column, copied where it is a view of something else.
pub(crate) fn parameter(tensor: &CubeTensor, elem: ElemType) -> Parameter {
    Parameter {
        handle: into_contiguous(tensor.clone()).handle,
        elem,
    }
}

/// A dense tensor on the device of `origin`.
pub(crate) fn dense(origin: &CubeTensor, handle: Handle, shape: Shape, dtype: DType) -> CubeTensor {
    CubeTensor::new_contiguous(
        origin.client.clone(),
        origin.device.clone(),
        shape,
        handle,
        dtype,
    )
}
