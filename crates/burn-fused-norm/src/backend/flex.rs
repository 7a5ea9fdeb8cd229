//! Flex tensors as rows and back.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use burn::backend::flex::{FlexTensor, Layout};
use burn::tensor::{Bytes, DType, Element as BurnElement, Shape, bf16, f16};
use fused_norm_kernels::cpu::{Element, Rows, Statistic};

use super::layout::row_pitch;
use super::parameters::convert;

/// A type of the kernels that a Flex tensor can hold.
pub(crate) trait FlexElement: Element + BurnElement + bytemuck::Pod {}

impl<T: Element + BurnElement + bytemuck::Pod> FlexElement for T {}

/// A tensor of type `T` whose last axis is dense and whose rows have one pitch.
pub(crate) struct RowTensor {
    tensor: FlexTensor,
    pitch: usize,
}

impl RowTensor {
    /// Copies what has no such rows; other views are taken as they are.
    pub(crate) fn new(tensor: FlexTensor) -> Self {
        let layout = tensor.layout();
        match row_pitch(layout.shape(), layout.strides()) {
            Some(pitch) => Self { tensor, pitch },
            None => {
                let tensor = tensor.to_contiguous();
                let pitch = last_axis(&tensor);
                Self { tensor, pitch }
            }
        }
    }

    pub(crate) fn rows<T: FlexElement>(&self) -> Rows<'_, T> {
        let storage = self.tensor.storage::<T>();
        // The offset of a view without elements may lie beyond its storage.
        let data = storage.get(self.tensor.layout().start_offset()..);
        Rows::with_pitch(data.unwrap_or_default(), self.pitch)
    }
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

/// `[d_model]` of any float type, in the type of computation; borrowed where that is its type.
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

/// `[d_model]` in the type of computation, as a tensor of type `dtype`.
pub(crate) fn gradient<S: Statistic + FlexElement>(values: Vec<S>, dtype: DType) -> FlexTensor {
    let shape = Shape::from([values.len()]);
    match dtype {
        _ if dtype == S::dtype() => dense(values, shape),
        DType::F64 => dense(convert::<_, f64>(&values), shape),
        DType::F32 => dense(convert::<_, f32>(&values), shape),
        DType::F16 => dense(convert::<_, f16>(&values), shape),
        DType::BF16 => dense(convert::<_, bf16>(&values), shape),
        other => unreachable!("parameters are checked to be float, found {other:?}"),
    }
}

fn last_axis(tensor: &FlexTensor) -> usize {
    tensor.layout().shape().last().copied().unwrap_or(1)
}
