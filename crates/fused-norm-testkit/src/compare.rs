//! Is this tensor right, and if not, where is it wrong?

use std::fmt;

use crate::case::Case;
use crate::oracle::Exact;
use crate::tolerance::{Reading, Tolerance};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// The output.
    Y,
    /// The updated residual stream.
    Sum,
    /// Gradient of x.
    Dx,
    /// Gradient of the residual or the gate.
    Dsecond,
    /// Gradient of gamma.
    Dgamma,
    /// Gradient of beta.
    Dbeta,
}

impl Quantity {
    /// The name used everywhere in the project.
    pub fn name(self) -> &'static str {
        match self {
            Self::Y => "y",
            Self::Sum => "sum",
            Self::Dx => "dx",
            Self::Dsecond => "dsecond",
            Self::Dgamma => "dgamma",
            Self::Dbeta => "dbeta",
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A comparison that found nothing wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Number of elements compared.
    pub elements: usize,
    /// Largest part of the slack that an element needed: its error beyond one correct rounding, as
    /// a fraction of what is allowed there. 0 when every element is correctly rounded.
    pub worst: f64,
}

/// A comparison that found wrong elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// Name of the case.
    pub case: String,
    /// What was compared.
    pub quantity: Quantity,
    /// Number of elements expected.
    pub total: usize,
    /// What is wrong with them.
    pub what: Wrong,
}

/// What a [`Mismatch`] found.
#[derive(Clone, Debug, PartialEq)]
pub enum Wrong {
    /// The number of elements.
    Length {
        /// Number of elements received.
        got: usize,
    },
    /// Some of the values.
    Values {
        /// Number of wrong elements.
        wrong: usize,
        /// Row of the worst one.
        row: usize,
        /// Column of the worst one.
        column: usize,
        /// Its value.
        got: f64,
        /// The exact value.
        want: f64,
        /// The error that would have been allowed.
        allowed: f64,
    },
}

/// Compares what an implementation returned with the exact values.
///
/// `magnitudes` are those of `want`; see [`Exact`].
pub fn compare(
    case: &Case,
    quantity: Quantity,
    got: &[f64],
    want: &[f64],
    magnitudes: &[f64],
    tolerance: &Tolerance,
) -> Result<Summary, Mismatch> {
    compare_each(case, quantity, got, want, |index, got| {
        tolerance.read(got, want[index], magnitudes[index])
    })
}

/// Compares by what `read` says about each element, given its index and the value received.
pub fn compare_each(
    case: &Case,
    quantity: Quantity,
    got: &[f64],
    want: &[f64],
    read: impl Fn(usize, f64) -> Reading,
) -> Result<Summary, Mismatch> {
    let mismatch = |what| Mismatch {
        case: case.name.clone(),
        quantity,
        total: want.len(),
        what,
    };
    if got.len() != want.len() {
        return Err(mismatch(Wrong::Length { got: got.len() }));
    }
    let mut summary = Summary {
        elements: want.len(),
        worst: 0.0,
    };
    let (mut wrong, mut worst_wrong) = (0, (0, -1.0));
    for (index, got) in got.iter().enumerate() {
        let Reading { accepted, used, .. } = read(index, *got);
        if !accepted {
            wrong += 1;
            let excess = if used.is_nan() { f64::INFINITY } else { used };
            if excess > worst_wrong.1 {
                worst_wrong = (index, excess);
            }
        } else if used.is_finite() && used > summary.worst {
            summary.worst = used;
        }
    }
    if wrong == 0 {
        return Ok(summary);
    }
    let (index, _) = worst_wrong;
    let (row, column) = match quantity {
        Quantity::Dgamma | Quantity::Dbeta => (index / case.row_len(), index % case.row_len()),
        _ => case.row_and_column(index),
    };
    Err(mismatch(Wrong::Values {
        wrong,
        row,
        column,
        got: got[index],
        want: want[index],
        allowed: read(index, got[index]).allowed,
    }))
}

/// [`compare`] with values and magnitudes together.
pub fn compare_exact(
    case: &Case,
    quantity: Quantity,
    got: &[f64],
    want: &Exact,
    tolerance: &Tolerance,
) -> Result<Summary, Mismatch> {
    compare(
        case,
        quantity,
        got,
        &want.values,
        &want.magnitudes,
        tolerance,
    )
}

/// The command that runs one case again. Names derived from a case of the catalogue lead back to it.
pub fn rerun(case: &str) -> String {
    let name = case.split('+').next().unwrap_or(case);
    format!("NORM_FILTER={name} cargo test -p burn-fused-norm --test conformance -- --nocapture")
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            case,
            quantity,
            total,
            what,
        } = self;
        match what {
            Wrong::Length { got } => {
                writeln!(f, "{case}: {quantity} has {got} elements, expected {total}")?;
            }
            Wrong::Values {
                wrong,
                row,
                column,
                got,
                want,
                allowed,
            } => {
                writeln!(
                    f,
                    "{case}: {quantity}: {wrong} of {total} elements are wrong"
                )?;
                let error = (got - want).abs();
                writeln!(
                    f,
                    "  worst at row {row}, column {column}: got {got:e}, expected {want:e}"
                )?;
                writeln!(f, "  error {error:.3e}, allowed {allowed:.3e}")?;
            }
        }
        write!(f, "  {}", rerun(case))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::FloatKind::F32;
    use crate::tolerance::tolerance;

    fn judge(got: &[f64]) -> Result<Summary, Mismatch> {
        let case = Case::new("two-rows", F32, &[2, 3]);
        let want = [1.0, 2.0, 3.0, 4.0, f64::NAN, f64::INFINITY];
        compare(
            &case,
            Quantity::Dx,
            got,
            &want,
            &want,
            &tolerance(F32, F32, 3),
        )
    }

    #[test]
    fn right_values_pass_with_their_worst_error() {
        let summary = judge(&[1.0, 2.0, 3.0, 4.0 + 4e-7, f64::NAN, f64::INFINITY]).unwrap();
        assert_eq!(summary.elements, 6);
        assert!(
            summary.worst > 0.05 && summary.worst < 1.0,
            "{}",
            summary.worst
        );
    }

    #[test]
    fn the_worst_element_is_named() {
        let message = judge(&[1.1, 2.0, 3.0, 9.0, f64::NAN, f64::INFINITY])
            .unwrap_err()
            .to_string();
        for part in [
            "two-rows: dx: 2 of 6 elements are wrong",
            "row 1, column 0: got 9e0, expected 4e0",
            "allowed",
            "NORM_FILTER=two-rows cargo test -p burn-fused-norm --test conformance -- --nocapture",
        ] {
            assert!(message.contains(part), "{part:?} not in:\n{message}");
        }
    }

    #[test]
    fn nan_and_infinity_are_worse_than_any_number() {
        let message = judge(&[1.1, 2.0, 3.0, 4.0, 0.0, f64::INFINITY])
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("row 1, column 1: got 0e0, expected NaN"),
            "{message}"
        );
        let message = judge(&[1.1, f64::NAN, 3.0, 4.0, f64::NAN, f64::INFINITY])
            .unwrap_err()
            .to_string();
        assert!(message.contains("row 0, column 1: got NaN"), "{message}");
        assert!(judge(&[1.0, 2.0, 3.0, 4.0, f64::NAN, f64::NEG_INFINITY]).is_err());
    }

    #[test]
    fn a_wrong_number_of_elements_is_said() {
        let message = judge(&[1.0]).unwrap_err().to_string();
        assert!(
            message.contains("dx has 1 elements, expected 6"),
            "{message}"
        );
    }
}
