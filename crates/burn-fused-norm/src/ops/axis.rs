//! Normalisation of another axis than the last is normalisation of a view whose last axis it is.

use burn::tensor::Tensor;

/// A view whose last axis is the one at `axis`, counted from the last.
pub(super) fn to_last<const D: usize>(x: Tensor<D>, axis: usize) -> Tensor<D> {
    match axis {
        0 => x,
        _ => x.movedim(D - 1 - axis, D - 1),
    }
}

/// The inverse of [`to_last`].
pub(super) fn from_last<const D: usize>(y: Tensor<D>, axis: usize) -> Tensor<D> {
    match axis {
        0 => y,
        _ => y.movedim(D - 1, D - 1 - axis),
    }
}
