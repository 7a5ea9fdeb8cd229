//! What must not change the bits?

use super::{Checked, Verdict, at_most, per_element, same_bits};
use crate::case::{Case, Fill, Layout};
use crate::compare::Quantity;
use crate::judge::Trial;
use crate::subject::{Outcome, Want};

/// Two runs that track everything, on cases of at most 300 000 elements.
pub(super) fn deterministic(trial: &Trial<'_>) -> Checked {
    at_most(trial, 300_000)?;
    let first = trial.training()?;
    let second = trial.run(trial.case, Want::all(trial.case))?;
    same_outcome("two runs", &second, first)?;
    Ok(Verdict::PASS)
}

/// Another epsilon and large gradients in between, on cases of at most 4096 elements.
pub(super) fn no_memory(trial: &Trial<'_>) -> Checked {
    at_most(trial, 4096)?;
    let case = trial.case;
    let want = Want::all(case);
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
    let others = [
        ("sum", &got.sum, &want.sum),
        ("dx", &got.dx, &want.dx),
        ("dsecond", &got.dsecond, &want.dsecond),
        ("dgamma", &got.dgamma, &want.dgamma),
        ("dbeta", &got.dbeta, &want.dbeta),
    ];
    for (name, got, want) in others {
        let (got, want) = (got.as_ref(), want.as_ref());
        let values =
            |tensor: Option<&(Vec<f64>, _)>| tensor.map_or(vec![], |(values, _)| values.clone());
        same_bits(&format!("{name} of {what}"), &values(got), &values(want))?;
    }
    Ok(())
}

fn all_dense(case: &Case) -> bool {
    [case.x_layout, case.dy_layout, case.second_layout] == [Layout::Dense; 3]
}

/// The first, the middle and the last row alone, and all rows but the first two, on dense cases of
/// at most 100 000 elements. Rows that lie side by side, or belong to a turn of gamma's rows, stay
/// together.
pub(super) fn batch(trial: &Trial<'_>) -> Checked {
    let case = trial.case;
    let rows = case.units();
    if rows < 2 {
        return Err(Verdict::skip("there is only one row, or group of rows"));
    }
    if !all_dense(case) {
        return Err(Verdict::skip(
            "parts of a view are not stored as the whole is",
        ));
    }
    at_most(trial, 100_000)?;
    let whole = per_element(trial.training()?)?;
    let mut parts = vec![0..1, rows / 2..rows / 2 + 1, rows - 1..rows, 2..rows];
    parts.dedup();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        let alone = trial.run(&case.with_units(part.clone()), Want::all(case))?;
        let elements = part.start * case.unit_len()..part.end * case.unit_len();
        for ((name, alone), (_, whole)) in per_element(&alone)?.into_iter().zip(&whole) {
            let what = format!("{name} of rows {part:?} of {rows}, alone and in the batch");
            same_bits(&what, alone, &whole[elements.clone()])?;
        }
    }
    Ok(Verdict::PASS)
}

/// The same rows behind a single axis, on dense cases of at most 100 000 elements.
pub(super) fn rank(trial: &Trial<'_>) -> Checked {
    let case = trial.case;
    if case.shape.len() == case.unit_shape().len() + 1 {
        return Err(Verdict::skip(
            "there is a single axis before the rows already",
        ));
    }
    if !all_dense(case) {
        return Err(Verdict::skip("a view of another rank is not stored alike"));
    }
    at_most(trial, 100_000)?;
    let mut flat = case.clone();
    flat.name = format!("{}+two_axes", case.name);
    flat.shape = [&[case.units()], case.unit_shape()].concat();
    let got = per_element(trial.training()?)?;
    let want = trial.run(&flat, Want::all(case))?;
    for ((name, got), (_, want)) in got.into_iter().zip(per_element(&want)?) {
        same_bits(
            &format!("{name} in this shape and behind one axis"),
            got,
            want,
        )?;
    }
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
    let want = trial.run(&none, Want::all(case))?;
    same_outcome("p = 1 and no p", trial.training()?, &want)?;
    Ok(Verdict::PASS)
}
