//! Which types, offsets and pitches a device takes.

use cubecl::client::Client;
use cubecl::features::TypeUsage;
use cubecl::ir::{AddressType, ElemType, FloatKind};

use super::conversions::has_bf16;
use super::{DeviceLimits, RowClass};
use crate::Error;

/// The type of rstd and of all sums: f64 where x is f64, f32 elsewhere.
pub fn statistic_type(x: ElemType) -> ElemType {
    match x {
        ElemType::Float(FloatKind::F64) => x,
        _ => ElemType::Float(FloatKind::F32),
    }
}

/// The device can hold this type, convert it, and compute in its statistic's type.
pub fn supports(client: &Client, elem: ElemType) -> bool {
    let is_ours = matches!(
        elem,
        ElemType::Float(FloatKind::F64 | FloatKind::F32 | FloatKind::F16 | FloatKind::BF16)
    );
    let properties = client.properties();
    let stored = TypeUsage::Buffer | TypeUsage::Conversion;
    let is_bf16 = elem == ElemType::Float(FloatKind::BF16);
    let on_threads = properties.hardware.num_cpu_cores.is_some();
    is_ours
        && properties.type_usage(elem).is_superset(stored)
        && properties
            .type_usage(statistic_type(elem))
            .contains(TypeUsage::Arithmetic)
        && !(is_bf16 && on_threads && !has_bf16(client))
}

/// The class of rows of `row_len` elements of type `x`, with nothing beside x.
pub fn row_class(row_len: usize, x: ElemType) -> RowClass {
    RowClass {
        row_len,
        element_size: x.size(),
        statistic_size: statistic_type(x).size(),
        inputs: 1,
    }
}

/// Rows with this pitch can be read where they are: every one starts at a multiple of the vectors
/// that rows of this length are read in. Others have to be copied, so that a row gives the same bits
/// wherever it lies.
pub fn reads_in_place(client: &Client, x: ElemType, row_len: usize, pitch: usize) -> bool {
    let limits = DeviceLimits::of(client.properties());
    pitch.is_multiple_of(row_class(row_len, x).vector_size(&limits))
}

/// The integers that index buffers of at most `elements` elements. Kernels step beyond the end
/// before they compare, by less than a buffer's length: half the range is theirs.
pub fn address_type(elements: usize) -> AddressType {
    AddressType::from_len_signed(elements)
}

/// The same, refused where the device lacks it.
pub(super) fn checked_address_type(client: &Client, elements: usize) -> Result<AddressType, Error> {
    let address = address_type(elements);
    if client.properties().supports_address(address) {
        Ok(address)
    } else {
        Err(Error::Addresses { elements })
    }
}

pub(super) fn check_type(
    client: &Client,
    buffer: &'static str,
    elem: ElemType,
) -> Result<(), Error> {
    if supports(client, elem) {
        Ok(())
    } else {
        Err(Error::Type { buffer, elem })
    }
}
