//! A case's host values as a device's tensors, and back.

use burn::tensor::{Device, Tensor, TensorData};
use fused_norm_testkit::{Base, FloatKind, ViewStep};

pub use crate::common::layer::{dtype, read};

/// A view of rank `D` of a base of rank `D`, or of rank `B` where a step changes the rank.
pub fn view<const B: usize, const D: usize>(
    base: &Base,
    kind: FloatKind,
    device: &Device,
) -> Tensor<D> {
    let data = || TensorData::new(base.values.clone(), base.shape.clone());
    let options = (device, dtype(kind));
    let change = base
        .steps
        .iter()
        .position(|step| matches!(step, ViewStep::Unfold { .. } | ViewStep::Squeeze(_)));
    let Some(change) = change else {
        return base
            .steps
            .iter()
            .fold(Tensor::from_data(data(), options), step);
    };
    let before = base.steps[..change]
        .iter()
        .fold(Tensor::<B>::from_data(data(), options), step);
    let changed = match base.steps[change] {
        ViewStep::Unfold { size, step } => before.unfold(B - 1, size, step),
        ViewStep::Squeeze(dim) => before.squeeze_dim(dim),
        _ => unreachable!("the step that changes the rank"),
    };
    base.steps[change + 1..].iter().fold(changed, step)
}

/// A step that keeps the rank.
fn step<const D: usize>(tensor: Tensor<D>, step: &ViewStep) -> Tensor<D> {
    match step {
        ViewStep::SwapDims(a, b) => tensor.swap_dims(*a, *b),
        ViewStep::Permute(axes) => {
            let axes: [usize; D] = axes.clone().try_into().expect("an axis for each");
            tensor.permute(axes)
        }
        ViewStep::Narrow { dim, start, len } => tensor.narrow(*dim, *start, *len),
        ViewStep::Step { dim, step } => {
            let end = tensor.shape()[*dim] as isize;
            let slice = burn::tensor::Slice::new(0, Some(end), *step as isize);
            tensor.slice_dim(*dim, slice)
        }
        ViewStep::Flip(dim) => tensor.flip([*dim]),
        ViewStep::Expand(shape) => {
            let shape: [usize; D] = shape.clone().try_into().expect("a length for each axis");
            tensor.expand(shape)
        }
        ViewStep::Unfold { .. } | ViewStep::Squeeze(_) => unreachable!("one change of rank a view"),
    }
}
