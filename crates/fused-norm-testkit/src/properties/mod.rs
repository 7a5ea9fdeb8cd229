//! What must hold, whatever the implementation?

mod invariance;
mod isolation;
mod scale;
mod tracking;
mod values;

use crate::compare::{Mismatch, Summary};
use crate::judge::Trial;
use crate::subject::Outcome;

/// The outcome of checking one property on one case.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It holds.
    Pass {
        /// Largest part of the allowed error that was used; 0 where nothing is measured.
        error: f64,
    },
    /// It says nothing about this case, and why.
    Skip(String),
    /// It does not hold, and what was found.
    Fail(String),
}

impl Verdict {
    const PASS: Verdict = Verdict::Pass { error: 0.0 };

    fn skip(reason: &str) -> Self {
        Self::Skip(reason.into())
    }

    fn of(compared: Result<Summary, Mismatch>) -> Self {
        match compared {
            Ok(summary) => Self::Pass {
                error: summary.worst,
            },
            Err(mismatch) => Self::Fail(mismatch.to_string()),
        }
    }
}

/// What a check returns: `Err` ends it early, with a skip or a failure.
type Checked = Result<Verdict, Verdict>;

impl From<String> for Verdict {
    fn from(message: String) -> Self {
        Self::Fail(message)
    }
}

/// A named promise.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// Name in reports.
    pub name: &'static str,
    /// Checks it.
    pub check: fn(&Trial<'_>) -> Verdict,
}

macro_rules! properties {
    ($($(#[doc = $doc:literal])* $name:literal => $check:path,)*) => {
        /// Every property:
        ///
        $(#[doc = concat!("* **", $name, "**:", $($doc),*)])*
        pub fn properties() -> Vec<Property> {
            vec![$(Property {
                name: $name,
                check: |trial| $check(trial).unwrap_or_else(|verdict| verdict),
            }),*]
        }
    };
}

properties! {
    /// y is right within the tolerance.
    "forward values" => values::y,
    /// The updated residual stream is correctly rounded.
    "sum values" => values::sum,
    /// dx is right within the tolerance.
    "dx values" => values::dx,
    /// The gradient of the residual or the gate is right within the tolerance.
    "dsecond values" => values::dsecond,
    /// dgamma is right within the tolerance.
    "dgamma values" => values::dgamma,
    /// dbeta is right within the tolerance.
    "dbeta values" => values::dbeta,
    /// Every result has the type of its input, and holds values of that type.
    "output types" => values::types,
    /// For every choice of tracked inputs there are gradients for exactly these, with right values.
    "gradients exactly for tracked inputs" => tracking::gradients,
    /// Nothing that the caller can still see is overwritten.
    "inputs unchanged" => tracking::inputs_unchanged,
    /// y and the sum have the same bits whether or not gradients are tracked.
    "inference equals training" => tracking::inference_equals_training,
    /// Running twice gives the same bits.
    "deterministic" => invariance::deterministic,
    /// Another epsilon and other values on the same shape leave nothing behind.
    "no memory of earlier calls" => invariance::no_memory,
    /// A row has the same bits of y, the sum, dx and dsecond alone, in a part of the batch, and in the batch.
    "batch invariance" => invariance::batch,
    /// The same rows behind one axis, or two axes in all, give the same bits of the same.
    "rank invariance" => invariance::rank,
    /// p = 1 gives the bits of no p at all.
    "whole partial equals none" => invariance::whole_partial,
    /// Scaling x, and the residual, and the root of epsilon by a power of two leaves y, dgamma and
    /// dgate right, multiplies the sum, and divides dx.
    "scale invariance" => scale::scale,
    /// NaN and the largest value beyond the first k columns leave the other outputs as they were.
    "prefix independence" => isolation::prefix,
    /// NaN in one row leaves y, the sum, dx and dsecond of the others as they were.
    "rows are independent" => isolation::rows,
}

/// The property of this name.
///
/// # Panics
///
/// Panics when there is none.
pub fn property(name: &str) -> Property {
    let found = properties()
        .into_iter()
        .find(|property| property.name == name);
    found.unwrap_or_else(|| panic!("no property is named {name:?}"))
}

/// Ends a check on cases that are too large to run many times.
fn at_most(trial: &Trial<'_>, elements: usize) -> Result<(), Verdict> {
    if trial.case.elements() <= elements {
        Ok(())
    } else {
        Err(Verdict::Skip(format!(
            "more than {elements} elements are not run repeatedly"
        )))
    }
}

/// Fails unless both have the same bits. Any NaN equals any other.
fn same_bits(what: &str, got: &[f64], want: &[f64]) -> Result<(), Verdict> {
    if got.len() != want.len() {
        return Err(Verdict::Fail(format!(
            "{what}: {} elements, expected {}",
            got.len(),
            want.len()
        )));
    }
    let differs = |(got, want): (&f64, &f64)| {
        got.to_bits() != want.to_bits() && !(got.is_nan() && want.is_nan())
    };
    let count = got.iter().zip(want).filter(|pair| differs(*pair)).count();
    match got.iter().zip(want).position(differs) {
        None => Ok(()),
        Some(index) => Err(Verdict::Fail(format!(
            "{what}: {count} of {} elements differ, the first at {index}: {:e} instead of {:e}",
            got.len(),
            got[index],
            want[index],
        ))),
    }
}

/// What a run that tracks everything returned for each element of x, by name.
fn per_element(outcome: &Outcome) -> Result<Vec<(&'static str, &[f64])>, Verdict> {
    let Some((dx, _)) = &outcome.dx else {
        return Err(Verdict::Fail("dx is missing".into()));
    };
    let mut all = vec![("y", outcome.y.as_slice()), ("dx", dx.as_slice())];
    for (name, tensor) in [("sum", &outcome.sum), ("dsecond", &outcome.dsecond)] {
        all.extend(tensor.iter().map(|(values, _)| (name, values.as_slice())));
    }
    Ok(all)
}
