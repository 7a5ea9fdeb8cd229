//! Which types, offsets and pitches a device takes.

use cubecl::client::Client;
use cubecl::features::TypeUsage;
use cubecl::ir::{AddressType, ElemType, FloatKind};

use super::{DeviceLimits, RowClass};
use crate::Error;

/// The type of rstd and of all sums: f64 where x is f64, f32 elsewhere.
pub fn statistic_type(x: ElemType) -> ElemType {
    match x {
        ElemType::Float(FloatKind::F64) => x,
        _ => ElemType::Float(FloatKind::F32),
    }
}

/// The power of two by which values of this type are multiplied before they are squared, so that fewer
/// squares overflow: no larger than 1, and no smaller than epsilon allows. Times its square, epsilon is
/// still a normal number with room for a digit less than its last one below, so that squares that vanish
/// are nothing beside it. In f32, values up to `2^64 / scale / √stat_len` are in range: 8e31/√stat_len with
/// an epsilon of 1e-5.
pub(super) fn scale_of_squares(epsilon: f64, statistic: ElemType) -> f64 {
    let smallest = match statistic {
        ElemType::Float(FloatKind::F64) => f64::MIN_EXP + f64::MANTISSA_DIGITS as i32,
        _ => f32::MIN_EXP + f32::MANTISSA_DIGITS as i32,
    };
    // epsilon is at least the `exponent`th power of two.
    let exponent = (epsilon.to_bits() >> 52) as i32 - 1023;
    let twice = (smallest - exponent).min(0);
    let scale = 1023 + (twice + 1).div_euclid(2);
    f64::from_bits((scale as u64) << 52)
}

/// The device can hold this type, convert it, and compute in its statistic's type.
pub fn supports(client: &Client, elem: ElemType) -> bool {
    let is_ours = matches!(
        elem,
        ElemType::Float(FloatKind::F64 | FloatKind::F32 | FloatKind::F16 | FloatKind::BF16)
    );
    let properties = client.properties();
    let stored = TypeUsage::Buffer | TypeUsage::Conversion;
    is_ours
        && properties.type_usage(elem).is_superset(stored)
        && properties
            .type_usage(statistic_type(elem))
            .contains(TypeUsage::Arithmetic)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_of_squares_leaves_epsilon_its_digits() {
        let f32 = ElemType::Float(FloatKind::F32);
        let f64 = ElemType::Float(FloatKind::F64);
        for epsilon in [1e30, 1.0, 1e-5, 1e-6, 1e-8, 1e-12, 1e-20, 1e-28] {
            let scale = scale_of_squares(epsilon, f32);
            let scaled = epsilon * scale * scale;
            let digits = f64::from(f32::MIN_POSITIVE) * 2_f64.powi(24);
            assert!(
                (digits..8.0 * digits).contains(&scaled),
                "{epsilon:e}: {scale:e}"
            );
            let scaled = epsilon * scale_of_squares(epsilon, f64).powi(2);
            let digits = f64::MIN_POSITIVE * 2_f64.powi(53);
            assert!(
                (digits..8.0 * digits).contains(&scaled),
                "{epsilon:e} in f64"
            );
        }
        assert_eq!(scale_of_squares(1e-5, f32), 2_f64.powi(-42));
        for epsilon in [1e-32, 1e-73, f64::MIN_POSITIVE, 5e-324] {
            assert_eq!(scale_of_squares(epsilon, f32), 1.0, "{epsilon:e}");
        }
    }
}
