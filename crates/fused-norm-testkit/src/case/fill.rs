//! With which values is a tensor filled?

use std::sync::Arc;

use crate::patterns;

/// Values of a tensor, before they are rounded to its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    /// The pattern [`patterns::p`] of the flat index.
    P,
    /// The pattern [`patterns::q`] of the flat index.
    Q,
    /// The pattern [`patterns::g`] of the column.
    G,
    /// The pattern [`patterns::b`] of the column.
    B,
    /// The pattern [`patterns::r`] of the flat index.
    R,
    /// The pattern P times a factor. With a factor that is no short binary fraction, sums depend on
    /// their order.
    ScaledP(f64),
    /// The pattern Q times a factor.
    ScaledQ(f64),
    /// The pattern R times a factor.
    ScaledR(f64),
    /// The pattern B times a factor.
    ScaledB(f64),
    /// Whole numbers from -90 to 90, neighbours far apart: for `exp`, all of its range and more.
    Sweep,
    /// Zero everywhere.
    Zeros,
    /// The same value everywhere.
    Constant(f64),
    /// A value with alternating sign along the columns, the first positive.
    Alternating(f64),
    /// The same as `Alternating(1)`, times row + 1.
    RowScaled,
    /// Column `j` holds `j + 1`.
    Ramp,
    /// Column 0 holds `first`, the others `rest`.
    Outlier {
        /// Value of column 0.
        first: f64,
        /// Value of the other columns.
        rest: f64,
    },
    /// The pattern P, 40 times as large in every 512th column.
    Spikes,
    /// The pattern P in even rows, zero in odd rows.
    ZeroRows,
    /// Exactly these values, in row-major order.
    Given(Arc<[f64]>),
}

impl Fill {
    /// Exactly these values, in row-major order.
    pub fn given(values: impl Into<Arc<[f64]>>) -> Self {
        Self::Given(values.into())
    }

    /// All values of a tensor of `len` elements in rows of `row_len`.
    ///
    /// # Panics
    ///
    /// Panics when given values are not `len` in number.
    pub fn values(&self, len: usize, row_len: usize) -> Vec<f64> {
        if let Self::Given(values) = self {
            assert_eq!(values.len(), len, "given values do not fit the shape");
            return values.to_vec();
        }
        (0..len)
            .map(|flat| self.at(flat, flat / row_len, flat % row_len))
            .collect()
    }

    fn at(&self, flat: usize, row: usize, column: usize) -> f64 {
        let sign = if column.is_multiple_of(2) { 1.0 } else { -1.0 };
        match self {
            Self::P => patterns::p(flat),
            Self::Q => patterns::q(flat),
            Self::G => patterns::g(column),
            Self::B => patterns::b(column),
            Self::R => patterns::r(flat),
            Self::ScaledP(factor) => factor * patterns::p(flat),
            Self::ScaledQ(factor) => factor * patterns::q(flat),
            Self::ScaledR(factor) => factor * patterns::r(flat),
            Self::ScaledB(factor) => factor * patterns::b(column),
            Self::Sweep => ((67 * flat + 31) % 181) as f64 - 90.0,
            Self::Zeros => 0.0,
            Self::Constant(value) => *value,
            Self::Alternating(value) => sign * value,
            Self::RowScaled => sign * (row + 1) as f64,
            Self::Ramp => (column + 1) as f64,
            Self::Outlier { first, rest } => {
                if column == 0 {
                    *first
                } else {
                    *rest
                }
            }
            Self::Spikes => {
                patterns::p(flat)
                    * if column.is_multiple_of(512) {
                        40.0
                    } else {
                        1.0
                    }
            }
            Self::ZeroRows => {
                if row.is_multiple_of(2) {
                    patterns::p(flat)
                } else {
                    0.0
                }
            }
            Self::Given(values) => values[flat],
        }
    }

    /// Short name without spaces.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::P => "p".into(),
            Self::Q => "q".into(),
            Self::G => "g".into(),
            Self::B => "b".into(),
            Self::R => "r".into(),
            Self::ScaledP(factor) => format!("{factor:e}p"),
            Self::ScaledQ(factor) => format!("{factor:e}q"),
            Self::ScaledR(factor) => format!("{factor:e}r"),
            Self::ScaledB(factor) => format!("{factor:e}b"),
            Self::Sweep => "sweep".into(),
            Self::Zeros => "zeros".into(),
            Self::Constant(value) => format!("all{value:e}"),
            Self::Alternating(value) => format!("alternating{value:e}"),
            Self::RowScaled => "row_scaled".into(),
            Self::Ramp => "ramp".into(),
            Self::Outlier { first, rest } => format!("outlier{first:e}of{rest:e}"),
            Self::Spikes => "spikes".into(),
            Self::ZeroRows => "zero_rows".into(),
            Self::Given(_) => "given".into(),
        }
    }
}
