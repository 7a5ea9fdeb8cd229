//! Do gradients exist exactly where they are asked for, and is nothing else disturbed?

use super::values::gradient_of;
use super::{Checked, Verdict, at_most, same_bits};
use crate::compare::Quantity;
use crate::judge::Trial;
use crate::subject::Want;

/// Every choice of tracked inputs, on cases of at most 4096 elements.
pub(super) fn gradients(trial: &Trial<'_>) -> Checked {
    at_most(trial, 4096)?;
    let mut worst = 0.0_f64;
    for want in Want::combinations(trial.case) {
        let fresh;
        let outcome = if want == Want::NOTHING {
            trial.inference()?
        } else if want == Want::all(trial.case) {
            trial.training()?
        } else {
            fresh = trial.run(trial.case, want)?;
            &fresh
        };
        let while_tracking = format!("while tracking {}", want.describe());
        for (quantity, wanted) in [
            (Quantity::Dx, want.x),
            (Quantity::Dsecond, want.second),
            (Quantity::Dgamma, want.gamma),
            (Quantity::Dbeta, want.beta),
        ] {
            match (gradient_of(outcome, quantity), wanted) {
                (None, false) => {}
                (None, true) => {
                    return Err(format!("{quantity} is missing {while_tracking}").into());
                }
                (Some(_), false) => {
                    return Err(format!("{quantity} exists {while_tracking}").into());
                }
                (Some((values, _)), true) => match trial.compare(quantity, values) {
                    Ok(summary) => worst = worst.max(summary.worst),
                    Err(mismatch) => return Err(format!("{while_tracking}: {mismatch}").into()),
                },
            }
        }
    }
    Ok(Verdict::Pass { error: worst })
}

/// Both the run without tracking and the run that tracks everything.
pub(super) fn inputs_unchanged(trial: &Trial<'_>) -> Checked {
    for (outcome, run) in [
        (trial.inference()?, "inference"),
        (trial.training()?, "training"),
    ] {
        if !outcome.inputs_unchanged {
            return Err(format!("an input was overwritten in {run}").into());
        }
    }
    Ok(Verdict::PASS)
}

/// The outputs of both runs.
pub(super) fn inference_equals_training(trial: &Trial<'_>) -> Checked {
    let (inference, training) = (trial.inference()?, trial.training()?);
    same_bits("y of inference and training", &inference.y, &training.y)?;
    let sums = [&inference.sum, &training.sum].map(|sum| match sum {
        Some((values, _)) => values.as_slice(),
        None => &[],
    });
    same_bits("sum of inference and training", sums[0], sums[1])?;
    Ok(Verdict::PASS)
}
