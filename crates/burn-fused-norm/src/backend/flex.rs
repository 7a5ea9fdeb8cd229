//! Flex tensors as rows and back.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use burn::backend::Flex;
use burn::backend::flex::{FlexTensor, Layout};
use burn::backend::ops::FloatTensorOps;
use burn::tensor::{Bytes, DType, Element as BurnElement, Shape, bf16, f16};
use fused_norm_kernels::cpu::{Element, Interleaved, Rows, Statistic};

use super::interleaving::Interleaving;
use super::layout::row_pitch;
use super::parameters::convert;

/// A type of the kernels that a Flex tensor can hold.
pub(crate) trait FlexElement: Element + BurnElement + bytemuck::Pod {}

impl<T: Element + BurnElement + bytemuck::Pod> FlexElement for T {}

/// Calls `$function::<T>($arguments)` with the type of x's elements; others are refused in the name of
/// `$operation`.
macro_rules! with_element {
    ($operation:expr, $dtype:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $dtype {
            burn::tensor::DType::F64 => $function::<f64>($($argument),*),
            burn::tensor::DType::F32 => $function::<f32>($($argument),*),
            burn::tensor::DType::F16 => $function::<burn::tensor::f16>($($argument),*),
            burn::tensor::DType::BF16 => $function::<burn::tensor::bf16>($($argument),*),
            other => panic!("{}: x has type {other:?}, expected F64, F32, F16 or BF16 on Flex", $operation),
        }
    };
}
pub(crate) use with_element;

/// A tensor of type `T` whose last axis is dense and whose rows have one pitch.
pub(crate) struct RowTensor {
    tensor: FlexTensor,
    pitch: usize,
}

impl RowTensor {
    /// Rows of `row_len` elements, which divides the last axis. Copies what has no such rows; other
    /// views are taken as they are.
    pub(crate) fn new(tensor: FlexTensor, row_len: usize) -> Self {
        let layout = tensor.layout();
        match row_pitch(layout.shape(), layout.strides(), row_len) {
            Some(pitch) => Self { tensor, pitch },
            None => Self {
                tensor: tensor.to_contiguous(),
                pitch: row_len,
            },
        }
    }

    pub(crate) fn rows<T: FlexElement>(&self) -> Rows<'_, T> {
        let storage = self.tensor.storage::<T>();
        // The offset of a view without elements may lie beyond its storage.
        let data = storage.get(self.tensor.layout().start_offset()..);
        Rows::with_pitch(data.unwrap_or_default(), self.pitch)
    }
}

/// A tensor whose rows lie side by side.
pub(crate) fn interleaved<T: FlexElement>(
    tensor: &FlexTensor,
    interleaving: Interleaving,
) -> Interleaved<'_, T> {
    let data = tensor.storage::<T>().get(tensor.layout().start_offset()..);
    Interleaved::new(
        data.unwrap_or_default(),
        interleaving.inner,
        interleaving.pitch,
    )
}

/// Rows that lie side by side as a tensor of `shape`.
pub(crate) fn interleaved_tensor<T: FlexElement>(
    values: Vec<T>,
    shape: &Shape,
    interleaving: Interleaving,
) -> FlexTensor {
    let base = dense(values, interleaving.base_shape(shape));
    Flex::float_permute(base, &interleaving.permutation(shape.num_dims()))
}

/// The tensor's elements, if they are dense and nobody else can see them.
pub(crate) fn unique_dense<T: FlexElement>(tensor: &mut FlexTensor) -> Option<&mut [T]> {
    let elements = tensor.layout().num_elements();
    if !tensor.is_contiguous() || tensor.layout().start_offset() != 0 {
        return None;
    }
    tensor
        .try_storage_mut::<T>()
        .filter(|storage| storage.len() == elements)
}

/// gamma or beta of any float type, in the type of computation; borrowed where that is its type.
pub(crate) fn parameter<S: Statistic + FlexElement>(tensor: &FlexTensor) -> Cow<'_, [S]> {
    if let Some(values) = tensor.as_slice::<S>() {
        return Cow::Borrowed(values);
    }
    let tensor = tensor.to_contiguous();
    Cow::Owned(match tensor.dtype() {
        DType::F64 => convert(tensor.storage::<f64>()),
        DType::F32 => convert(tensor.storage::<f32>()),
        DType::F16 => convert(tensor.storage::<f16>()),
        DType::BF16 => convert(tensor.storage::<bf16>()),
        other => unreachable!("parameters are checked to be float, found {other:?}"),
    })
}

/// Rows as a dense tensor.
pub(crate) fn dense<T: FlexElement>(values: Vec<T>, shape: Shape) -> FlexTensor {
    FlexTensor::new(
        Bytes::from_elems(values),
        Layout::contiguous(shape),
        T::dtype(),
    )
}

/// Sums in the type of computation, as a parameter's gradient of that shape and type.
pub(crate) fn gradient<S: Statistic + FlexElement>(
    values: Vec<S>,
    shape: Shape,
    dtype: DType,
) -> FlexTensor {
    match dtype {
        _ if dtype == S::dtype() => dense(values, shape),
        DType::F64 => dense(convert::<_, f64>(&values), shape),
        DType::F32 => dense(convert::<_, f32>(&values), shape),
        DType::F16 => dense(convert::<_, f16>(&values), shape),
        DType::BF16 => dense(convert::<_, bf16>(&values), shape),
        other => unreachable!("parameters are checked to be float, found {other:?}"),
    }
}
