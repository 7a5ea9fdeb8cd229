//! Are values and types right?

use super::{Checked, Verdict};
use crate::case::Variant;
use crate::compare::Quantity;
use crate::judge::Trial;
use crate::kind::FloatKind;
use crate::subject::Outcome;

/// y of the run without tracking.
pub(super) fn y(trial: &Trial<'_>) -> Checked {
    Ok(Verdict::of(
        trial.compare(Quantity::Y, &trial.inference()?.y),
    ))
}

/// The sum of the run without tracking.
pub(super) fn sum(trial: &Trial<'_>) -> Checked {
    let found = &trial.inference()?.sum;
    match (trial.case.variant, found) {
        (Variant::Add, Some((sum, _))) => Ok(Verdict::of(trial.compare(Quantity::Sum, sum))),
        (Variant::Add, None) => Err(Verdict::Fail("the sum is missing".into())),
        (_, Some(_)) => Err(Verdict::Fail("there is a sum of nothing".into())),
        (_, None) => Err(Verdict::skip("there is no sum")),
    }
}

/// dx of the run that tracks everything.
pub(super) fn dx(trial: &Trial<'_>) -> Checked {
    gradient(trial, Quantity::Dx)
}

/// The gradient of the residual or the gate of the run that tracks everything.
pub(super) fn dsecond(trial: &Trial<'_>) -> Checked {
    if !trial.case.variant.has_second() {
        return Err(Verdict::skip("there is no second operand"));
    }
    gradient(trial, Quantity::Dsecond)
}

/// dgamma of the run that tracks everything.
pub(super) fn dgamma(trial: &Trial<'_>) -> Checked {
    if !trial.case.affine.has_gamma() {
        return Err(Verdict::skip("there is no gamma"));
    }
    gradient(trial, Quantity::Dgamma)
}

/// dbeta of the run that tracks everything.
pub(super) fn dbeta(trial: &Trial<'_>) -> Checked {
    if !trial.case.affine.has_beta() {
        return Err(Verdict::skip("there is no beta"));
    }
    gradient(trial, Quantity::Dbeta)
}

fn gradient(trial: &Trial<'_>, quantity: Quantity) -> Checked {
    match gradient_of(trial.training()?, quantity) {
        Some((values, _)) => Ok(Verdict::of(trial.compare(quantity, values))),
        None => Err(Verdict::Fail(format!("{quantity} is missing"))),
    }
}

/// The gradient of this name in an outcome.
pub(super) fn gradient_of(outcome: &Outcome, quantity: Quantity) -> Option<&(Vec<f64>, FloatKind)> {
    match quantity {
        Quantity::Y | Quantity::Sum => None,
        Quantity::Dx => outcome.dx.as_ref(),
        Quantity::Dsecond => outcome.dsecond.as_ref(),
        Quantity::Dgamma => outcome.dgamma.as_ref(),
        Quantity::Dbeta => outcome.dbeta.as_ref(),
    }
}

/// Every result of both runs has the kind of its input, and holds values of that kind.
pub(super) fn types(trial: &Trial<'_>) -> Checked {
    let case = trial.case;
    let kinds = [
        (Quantity::Dx, case.x_kind),
        (Quantity::Dsecond, case.x_kind),
        (Quantity::Dgamma, case.gamma_kind),
        (Quantity::Dbeta, case.beta_kind),
    ];
    for outcome in [trial.inference()?, trial.training()?] {
        kind_is(Quantity::Y, &outcome.y, outcome.y_kind, case.x_kind)?;
        if let Some((sum, got)) = &outcome.sum {
            kind_is(Quantity::Sum, sum, *got, case.x_kind)?;
        }
        for (quantity, kind) in kinds {
            if let Some((values, got)) = gradient_of(outcome, quantity) {
                kind_is(quantity, values, *got, kind)?;
            }
        }
    }
    Ok(Verdict::PASS)
}

fn kind_is(
    quantity: Quantity,
    values: &[f64],
    got: FloatKind,
    want: FloatKind,
) -> Result<(), Verdict> {
    if got != want {
        return Err(Verdict::Fail(format!(
            "{quantity} has type {got}, expected {want}"
        )));
    }
    match values
        .iter()
        .find(|value| !value.is_nan() && want.round(**value) != **value)
    {
        Some(value) => Err(Verdict::Fail(format!(
            "{quantity} holds {value:e}, which is no value of {want}"
        ))),
        None => Ok(()),
    }
}
