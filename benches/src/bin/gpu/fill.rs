//! What is in a device's buffers, without a copy of it on the host?

use cubecl::client::Client;
use cubecl::prelude::*;
use cubecl::server::Handle;
use fused_norm_cube_tests::elem;
use fused_norm_kernels::cube::{DeviceLimits, address_type};
use fused_norm_testkit::FloatKind;

/// `common` everywhere but from element `first` on, where `even` and `odd` alternate.
#[derive(Clone, Copy)]
pub struct Tail {
    /// The first element of the tail.
    pub first: usize,
    /// Elements before the tail.
    pub common: f32,
    /// Elements of the tail with an even index.
    pub even: f32,
    /// Elements of the tail with an odd index.
    pub odd: f32,
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn tail_kernel<T: Float>(
    out: &mut [T],
    len: usize,
    first: usize,
    common: f32,
    even: f32,
    odd: f32,
    #[define(T)] _type: ElemType,
) {
    let mut index = ABSOLUTE_POS;
    while index < len {
        let in_tail = select(index % 2 == 0, even, odd);
        out[index] = T::cast_from(select(index < first, common, in_tail));
        index += CUBE_COUNT_X as usize * CUBE_DIM_X as usize;
    }
}

/// As `fused_norm_testkit::patterns::p`: multiples of 1/32 in [-50/32, 50/32].
#[cube(launch_unchecked, address_type = "dynamic")]
fn pattern_kernel<T: Float>(out: &mut [T], len: usize, #[define(T)] _type: ElemType) {
    let mut index = ABSOLUTE_POS;
    while index < len {
        let step = (index % 101 * 37 + 11) % 101;
        out[index] = T::cast_from((f32::cast_from(step) - 50.0) / 32.0);
        index += CUBE_COUNT_X as usize * CUBE_DIM_X as usize;
    }
}

/// A buffer of `len` elements: see [`Tail`].
pub fn tail(client: &Client, kind: FloatKind, len: usize, tail: Tail) -> Handle {
    let (out, cubes, units) = buffer(client, kind, len);
    let argument = argument(&out, len);
    // SAFETY: the buffer was made with `len` elements, the kernel indexes below `len`, and every
    // step advances.
    unsafe {
        tail_kernel::launch_unchecked(
            client,
            cubes,
            units,
            address_type(len),
            argument,
            len,
            tail.first,
            tail.common,
            tail.even,
            tail.odd,
            elem(kind),
        );
    }
    out
}

/// A buffer of `len` elements of the testkit's pattern of inputs.
pub fn pattern(client: &Client, kind: FloatKind, len: usize) -> Handle {
    let (out, cubes, units) = buffer(client, kind, len);
    let argument = argument(&out, len);
    // SAFETY: as in `tail`.
    unsafe {
        pattern_kernel::launch_unchecked(
            client,
            cubes,
            units,
            address_type(len),
            argument,
            len,
            elem(kind),
        );
    }
    out
}

fn buffer(client: &Client, kind: FloatKind, len: usize) -> (Handle, CubeCount, CubeDim) {
    let limits = DeviceLimits::of(client.properties());
    let units = limits.max_units.min(256);
    let most = if limits.threads { 1 } else { limits.max_cubes };
    let cubes = len.div_ceil(units as usize).clamp(1, most as usize) as u32;
    let out = client.empty(len * elem(kind).size());
    (out, CubeCount::Static(cubes, 1, 1), CubeDim::new_1d(units))
}

fn argument(handle: &Handle, len: usize) -> BufferArg {
    // SAFETY: `buffer` has made the handle with `len` elements.
    unsafe { BufferArg::from_raw_parts(handle.clone(), len) }
}
