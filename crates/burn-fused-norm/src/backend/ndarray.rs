//! NdArray tensors as rows and back.
//!
//! `ndarray` shows a strided view as an iterator of rows, not as one slice with a pitch, so views
//! that are not dense are copied; on Flex they are read where they are.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use burn::backend::ndarray::{NdArrayTensor, SharedArray};
use burn::backend::ops::FloatTensorOps;
use burn::backend::{NdArray, TensorMetadata};
use burn::tensor::{DType, Shape};
use fused_norm_kernels::cpu::{Element, Interleaved, Rows, Statistic};
use ndarray::{ArrayView, CowArray, IxDyn};

use super::interleaving::Interleaving;
use super::parameters::convert;

/// Calls `$function::<T>($arguments)` with the type of x's elements; others are refused in the name of
/// `$operation`.
macro_rules! with_element {
    ($operation:expr, $dtype:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $dtype {
            burn::tensor::DType::F64 => $function::<f64>($($argument),*),
            burn::tensor::DType::F32 => $function::<f32>($($argument),*),
            other => panic!("{}: x has type {other:?}, expected F64 or F32 on NdArray", $operation),
        }
    };
}
pub(crate) use with_element;

/// A type of the kernels that an NdArray tensor can hold.
pub(crate) trait NdArrayElement: Element + Statistic {
    /// The tensor's elements; a panic if it holds another type.
    fn view(tensor: &NdArrayTensor) -> ArrayView<'_, Self, IxDyn>;
    /// The tensor's array, copied if it is borrowed from elsewhere.
    fn into_array(tensor: NdArrayTensor) -> SharedArray<Self>;
    /// The array as a tensor.
    fn into_tensor(array: SharedArray<Self>) -> NdArrayTensor;
    /// Whether nobody else can see the tensor's elements.
    fn is_unique(tensor: &NdArrayTensor) -> bool;
}

macro_rules! ndarray_element {
    ($type:ty, $variant:ident) => {
        impl NdArrayElement for $type {
            fn view(tensor: &NdArrayTensor) -> ArrayView<'_, Self, IxDyn> {
                match tensor {
                    NdArrayTensor::$variant(storage) => storage.view(),
                    other => unreachable!("expected {}, found {:?}", stringify!($variant), other.dtype()),
                }
            }

            fn into_array(tensor: NdArrayTensor) -> SharedArray<Self> {
                match tensor {
                    NdArrayTensor::$variant(storage) => storage.into_shared(),
                    other => unreachable!("expected {}, found {:?}", stringify!($variant), other.dtype()),
                }
            }

            fn into_tensor(array: SharedArray<Self>) -> NdArrayTensor {
                NdArrayTensor::from(array)
            }

            fn is_unique(tensor: &NdArrayTensor) -> bool {
                matches!(tensor, NdArrayTensor::$variant(storage) if storage.is_unique())
            }
        }
    };
}

ndarray_element!(f64, F64);
ndarray_element!(f32, F32);

/// A dense copy of a tensor, or the tensor itself where it is dense.
pub(crate) struct DenseTensor<'a, T: NdArrayElement>(CowArray<'a, T, IxDyn>);

impl<'a, T: NdArrayElement> DenseTensor<'a, T> {
    pub(crate) fn new(tensor: &'a NdArrayTensor) -> Self {
        let view = T::view(tensor);
        Self(match view.is_standard_layout() {
            true => view.into(),
            false => view.as_standard_layout().into_owned().into(),
        })
    }

    pub(crate) fn values(&self) -> &[T] {
        self.0.as_slice().expect("the array is dense")
    }

    pub(crate) fn rows(&self, row_len: usize) -> Rows<'_, T> {
        Rows::dense(self.values(), row_len)
    }
}

/// A tensor whose rows lie side by side, with nothing between them.
pub(crate) struct InterleavedTensor<'a, T> {
    values: &'a [T],
    interleaving: Interleaving,
}

impl<'a, T: NdArrayElement> InterleavedTensor<'a, T> {
    /// If the tensor is one, and its last axis a row.
    pub(crate) fn new(tensor: &'a NdArrayTensor, row_len: usize) -> Option<Self> {
        let view = T::view(tensor);
        let interleaving = Interleaving::of(view.shape(), view.strides())?;
        let is_ours = view.shape().last() == Some(&row_len) && interleaving.is_dense(view.shape());
        let values = view.to_slice_memory_order().filter(|_| is_ours)?;
        Some(Self {
            values,
            interleaving,
        })
    }

    pub(crate) fn inner(&self) -> usize {
        self.interleaving.inner
    }

    pub(crate) fn rows(&self) -> Interleaved<'a, T> {
        Interleaved::new(
            self.values,
            self.interleaving.inner,
            self.interleaving.pitch,
        )
    }

    /// Rows that lie as this tensor's, as a tensor of its shape.
    pub(crate) fn tensor(&self, values: Vec<T>, shape: &Shape) -> NdArrayTensor {
        let base = dense(values, &self.interleaving.base_shape(shape));
        NdArray::float_permute(base, &self.interleaving.permutation(shape.num_dims()))
    }
}

/// The tensor's array, if its elements are dense and nobody else can see them; else the tensor.
pub(crate) fn unique_dense<T: NdArrayElement>(
    tensor: NdArrayTensor,
) -> Result<SharedArray<T>, NdArrayTensor> {
    if T::is_unique(&tensor) && T::view(&tensor).is_standard_layout() {
        Ok(T::into_array(tensor))
    } else {
        Err(tensor)
    }
}

/// gamma or beta of any float type, in the type of computation; borrowed where that is its type.
pub(crate) fn parameter<S: NdArrayElement>(tensor: &NdArrayTensor) -> Cow<'_, [S]> {
    fn values<A: NdArrayElement, S: NdArrayElement>(tensor: &NdArrayTensor) -> Cow<'_, [S]> {
        Cow::Owned(convert(DenseTensor::<A>::new(tensor).values()))
    }
    let found = tensor.dtype();
    if found == dtype::<S>() {
        return match S::view(tensor).to_slice() {
            Some(values) => Cow::Borrowed(values),
            None => values::<S, S>(tensor),
        };
    }
    match found {
        DType::F64 => values::<f64, S>(tensor),
        DType::F32 => values::<f32, S>(tensor),
        other => unreachable!("parameters are checked to be float, found {other:?}"),
    }
}

/// Rows as a dense tensor.
pub(crate) fn dense<T: NdArrayElement>(values: Vec<T>, shape: &Shape) -> NdArrayTensor {
    let array = SharedArray::from_shape_vec(IxDyn(shape), values);
    T::into_tensor(array.expect("the kernels return as many values as the shape has"))
}

/// Sums in the type of computation, as a parameter's gradient of that shape and type.
pub(crate) fn gradient<S: NdArrayElement>(
    values: Vec<S>,
    shape: Shape,
    dtype: DType,
) -> NdArrayTensor {
    match dtype {
        DType::F64 => dense(convert::<_, f64>(&values), &shape),
        DType::F32 => dense(convert::<_, f32>(&values), &shape),
        other => unreachable!("parameters are checked to be float, found {other:?}"),
    }
}

fn dtype<S: NdArrayElement>() -> DType {
    if size_of::<S>() == 8 {
        DType::F64
    } else {
        DType::F32
    }
}
