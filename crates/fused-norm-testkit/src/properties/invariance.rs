//! What must not change the bits, or only in a known way?

use super::{Checked, Verdict, at_most, same_bits};
use crate::case::{Case, Fill, Layout};
use crate::compare::Quantity;
use crate::judge::Trial;
use crate::subject::{Outcome, Want};

/// Two runs that track everything, on cases of at most 300 000 elements.
pub(super) fn deterministic(trial: &Trial<'_>) -> Checked {
    at_most(trial, 300_000)?;
    let first = trial.training()?;
    let second = trial.run(trial.case, Want::all(trial.case.affine))?;
    same_outcome("two runs", &second, first)?;
    Ok(Verdict::PASS)
}

/// Another epsilon and large gradients in between, on cases of at most 4096 elements.
pub(super) fn no_memory(trial: &Trial<'_>) -> Checked {
    at_most(trial, 4096)?;
    let case = trial.case;
    let want = Want::all(case.affine);
    let first = trial.training()?;
    let mut other = case.clone();
    other.name = format!("{}+other_epsilon", case.name);
    other.epsilon = case.epsilon + 0.75;
    other.dy_fill = Fill::Constant(1000.0);
    let between = trial.run(&other, want)?;
    if let Err(mismatch) = Trial::new(trial.subject, &other).compare(Quantity::Y, &between.y) {
        return Err(format!("after a call with another epsilon: {mismatch}").into());
    }
    let second = trial.run(case, want)?;
    same_outcome("before and after another call", &second, first)?;
    Ok(Verdict::PASS)
}

fn same_outcome(what: &str, got: &Outcome, want: &Outcome) -> Result<(), Verdict> {
    same_bits(&format!("y of {what}"), &got.y, &want.y)?;
    let gradients = [
        ("dx", &got.dx, &want.dx),
        ("dgamma", &got.dgamma, &want.dgamma),
        ("dbeta", &got.dbeta, &want.dbeta),
    ];
    for (name, got, want) in gradients {
        let (got, want) = (got.as_ref(), want.as_ref());
        let values = |gradient: Option<&(Vec<f64>, _)>| {
            gradient.map_or(vec![], |(values, _)| values.clone())
        };
        same_bits(&format!("{name} of {what}"), &values(got), &values(want))?;
    }
    Ok(())
}

/// The first, the middle and the last row alone, and all rows but the first two, on dense cases of
/// at most 100 000 elements.
pub(super) fn batch(trial: &Trial<'_>) -> Checked {
    let case = trial.case;
    let rows = case.rows();
    if rows < 2 {
        return Err(Verdict::skip("there is only one row"));
    }
    if (case.x_layout, case.dy_layout) != (Layout::Dense, Layout::Dense) {
        return Err(Verdict::skip(
            "parts of a view are not stored as the whole is",
        ));
    }
    at_most(trial, 100_000)?;
    let whole = trial.training()?;
    let mut parts = vec![0..1, rows / 2..rows / 2 + 1, rows - 1..rows, 2..rows];
    parts.dedup();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        let alone = trial.run(&case.with_rows(part.clone()), Want::all(case.affine))?;
        let elements = part.start * case.row_len()..part.end * case.row_len();
        let what = format!("of rows {part:?} of {rows}, alone and in the batch");
        same_bits(&format!("y {what}"), &alone.y, &whole.y[elements.clone()])?;
        same_bits(&format!("dx {what}"), dx(&alone)?, &dx(whole)?[elements])?;
    }
    Ok(Verdict::PASS)
}

fn dx(outcome: &Outcome) -> Result<&[f64], Verdict> {
    match &outcome.dx {
        Some((values, _)) => Ok(values),
        None => Err(Verdict::Fail("dx is missing".into())),
    }
}

/// The same rows as two axes, on dense cases of at most 100 000 elements.
pub(super) fn rank(trial: &Trial<'_>) -> Checked {
    let case = trial.case;
    if case.shape.len() == 2 {
        return Err(Verdict::skip("there are two axes already"));
    }
    if (case.x_layout, case.dy_layout) != (Layout::Dense, Layout::Dense) {
        return Err(Verdict::skip("a view of another rank is not stored alike"));
    }
    at_most(trial, 100_000)?;
    let mut flat = case.clone();
    flat.name = format!("{}+two_axes", case.name);
    flat.shape = vec![case.rows(), case.row_len()];
    let got = trial.training()?;
    let want = trial.run(&flat, Want::all(case.affine))?;
    same_bits("y in this shape and in two axes", &got.y, &want.y)?;
    same_bits("dx in this shape and in two axes", dx(got)?, dx(&want)?)?;
    Ok(Verdict::PASS)
}

/// Cases with p = 1 against RMSNorm.
pub(super) fn whole_partial(trial: &Trial<'_>) -> Checked {
    let case = trial.case;
    if case.partial != Some(1.0) {
        return Err(Verdict::skip("p is not 1"));
    }
    at_most(trial, 100_000)?;
    let mut none = case.clone();
    none.name = format!("{}+no_partial", case.name);
    none.partial = None;
    let want = trial.run(&none, Want::all(case.affine))?;
    same_outcome("p = 1 and no p", trial.training()?, &want)?;
    Ok(Verdict::PASS)
}

/// x times 8 and times 1/8, epsilon times the square of it, on cases of at most 4096 elements.
///
/// Judged by the tolerance, as a reciprocal root in hardware need not treat all powers alike.
pub(super) fn scale(trial: &Trial<'_>) -> Checked {
    at_most(trial, 4096)?;
    if trial.case.x_layout.repeats() {
        return Err(Verdict::skip(
            "a layout that repeats elements cannot be given values",
        ));
    }
    let mut worst = 0.0_f64;
    for factor in [8.0, 0.125] {
        let Some(scaled) = scaled(trial.case, factor) else {
            return Err(Verdict::skip("the scaled values do not fit the type"));
        };
        let got = trial.run(&scaled, Want::all(scaled.affine))?;
        let about = |mismatch| Verdict::Fail(format!("x scaled by {factor}: {mismatch}"));
        worst = worst.max(trial.compare(Quantity::Y, &got.y).map_err(about)?.worst);
        if let Some((dgamma, _)) = &got.dgamma {
            worst = worst.max(
                trial
                    .compare(Quantity::Dgamma, dgamma)
                    .map_err(about)?
                    .worst,
            );
        }
        let dx: Vec<f64> = dx(&got)?.iter().map(|dx| dx * factor).collect();
        if dx
            .iter()
            .all(|dx| comfortable(trial.case, *dx) && comfortable(trial.case, *dx / factor))
        {
            worst = worst.max(trial.compare(Quantity::Dx, &dx).map_err(about)?.worst);
        }
    }
    Ok(Verdict::Pass { error: worst })
}

/// Is the value far from where its kind loses precision or overflows?
fn comfortable(case: &Case, value: f64) -> bool {
    value == 0.0
        || (case.x_kind.min_normal()..=case.x_kind.max_finite() / 8.0).contains(&value.abs())
}

fn scaled(case: &Case, factor: f64) -> Option<Case> {
    let x: Vec<f64> = case.x().iter().map(|x| x * factor).collect();
    if !x.iter().all(|x| comfortable(case, *x)) {
        return None;
    }
    let mut scaled = case.with_values("scaled", x, case.dy());
    scaled.epsilon = case.statistic().round(case.epsilon) * factor * factor;
    Some(scaled)
}
