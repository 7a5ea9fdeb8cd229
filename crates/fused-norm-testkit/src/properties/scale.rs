//! What happens when everything that the statistic reads is scaled?

use super::{Checked, Verdict, at_most};
use crate::case::{Case, Variant};
use crate::compare::Quantity;
use crate::judge::Trial;
use crate::subject::Want;

/// x, and the residual, times 8 and times 1/8, epsilon times the square of it, on cases of at most
/// 4096 elements. A gate, which is not linear, stays.
///
/// Judged by the tolerance, as a reciprocal root in hardware need not treat all powers alike.
pub(super) fn scale(trial: &Trial<'_>) -> Checked {
    let case = trial.case;
    at_most(trial, 4096)?;
    let residual = case.variant == Variant::Add;
    if case.x_layout.repeats() || (residual && case.second_layout.repeats()) {
        return Err(Verdict::skip(
            "a layout that repeats elements cannot be given values",
        ));
    }
    let mut worst = 0.0_f64;
    for factor in [8.0, 0.125] {
        let Some(scaled) = scaled(case, factor) else {
            return Err(Verdict::skip("the scaled values do not fit the type"));
        };
        let got = trial.run(&scaled, Want::all(&scaled))?;
        let mut judged = |quantity, values: &[f64]| match trial.compare(quantity, values) {
            Ok(summary) => {
                worst = worst.max(summary.worst);
                Ok(())
            }
            Err(mismatch) => Err(Verdict::Fail(format!("x scaled by {factor}: {mismatch}"))),
        };
        judged(Quantity::Y, &got.y)?;
        // What grows with x, what does not, and what shrinks.
        let mut changed = vec![
            (Quantity::Dgamma, &got.dgamma, 1.0),
            (Quantity::Dx, &got.dx, factor),
        ];
        if residual {
            changed.push((Quantity::Sum, &got.sum, 1.0 / factor));
            changed.push((Quantity::Dsecond, &got.dsecond, factor));
        } else if case.variant.has_second() {
            changed.push((Quantity::Dsecond, &got.dsecond, 1.0));
        }
        for (quantity, got, back) in changed {
            let Some((values, _)) = got else {
                if quantity == Quantity::Dgamma && !case.affine.has_gamma() {
                    continue;
                }
                return Err(format!("{quantity} is missing").into());
            };
            if back == 1.0 {
                judged(quantity, values)?;
                continue;
            }
            let returned: Vec<f64> = values.iter().map(|value| value * back).collect();
            let fit = |values: &[f64]| values.iter().all(|value| comfortable(case, *value));
            if fit(&returned) && fit(values) {
                judged(quantity, &returned)?;
            }
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
    let times = |values: Vec<f64>, factor: f64| -> Vec<f64> {
        values.into_iter().map(|value| value * factor).collect()
    };
    let mut inputs = case.inputs();
    inputs.x = times(inputs.x, factor);
    if case.variant == Variant::Add {
        inputs.second = inputs.second.map(|second| times(second, factor));
        inputs.dsum = inputs.dsum.map(|dsum| times(dsum, 1.0 / factor));
    }
    let fit = |values: &[f64]| values.iter().all(|value| comfortable(case, *value));
    let fits = fit(&inputs.x)
        && inputs.second.as_deref().is_none_or(fit)
        && inputs.dsum.as_deref().is_none_or(fit);
    let mut scaled = case.with_inputs("scaled", inputs);
    scaled.epsilon = case.statistic().round(case.epsilon) * factor * factor;
    fits.then_some(scaled)
}
