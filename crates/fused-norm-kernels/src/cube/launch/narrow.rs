//! The launch of a conversion, to see whether it works.

use alloc::vec::Vec;

use cubecl::client::Client;
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;

use super::buffer;
use crate::cube::kernels::narrow::narrow;

/// `numbers` as the bytes of bf16, computed on the device; nothing where the device says that it failed.
pub(in crate::cube) fn narrow_to_bf16(client: &Client, numbers: &[f32]) -> Option<Vec<u8>> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_ne_bytes()).collect();
    let from = client.create_from_slice(&bytes);
    // Not what an earlier kernel has left.
    let to = client.create_from_slice(&bytes[..bytes.len() / 2]);
    narrow::launch(
        client,
        CubeCount::Static(1, 1, 1),
        CubeDim::new_1d(1),
        buffer(from, numbers.len()),
        buffer(to.clone(), numbers.len()),
        ElemType::Float(FloatKind::BF16),
    );
    client.read_one(to).ok().map(|bytes| bytes.to_vec())
}
