//! A conversion and nothing else.

use cubecl::prelude::*;

/// One unit: every number of `from` in the type of `to`.
#[cube(launch)]
pub fn narrow<T: Float>(from: &[f32], to: &mut [T], #[define(T)] _type: ElemType) {
    for index in 0..from.len() {
        to[index] = T::cast_from(from[index]);
    }
}
