//! What must NaN not reach?

use super::{Checked, Verdict, at_most, per_element, same_bits};
use crate::case::{Case, Inputs};
use crate::judge::Trial;
use crate::subject::Want;

/// Column k holds NaN and the last column the largest value of the kind, in x and, where there is
/// one, in the second operand as well, on cases of at most 20 000 elements.
pub(super) fn prefix(trial: &Trial<'_>) -> Checked {
    let case = trial.case;
    let (n, k) = (case.row_len(), case.stat_len());
    if k == n {
        return Err(Verdict::skip("the statistic reads every column"));
    }
    at_most(trial, 20_000)?;
    let run = |change: &str, inputs: Inputs| {
        let y = trial
            .run(&case.with_inputs(change, inputs), Want::NOTHING)?
            .y;
        Ok::<_, Verdict>(case.in_rows(&y))
    };
    let plain = run("plain", case.inputs())?;
    let mut inputs = case.inputs();
    let poisoned = |values: &[f64]| {
        let mut values = case.in_rows(values);
        for row in values.chunks_exact_mut(n) {
            row[n - 1] = case.x_kind.max_finite();
            row[k] = f64::NAN;
        }
        case.in_axes(&values)
    };
    inputs.x = poisoned(&inputs.x);
    inputs.second = inputs.second.map(|second| poisoned(&second));
    let got = run("poisoned_tail", inputs)?;
    let untouched = |y: &[f64]| -> Vec<f64> {
        let column = |index: usize| index % n;
        let kept = y
            .iter()
            .enumerate()
            .filter(|(index, _)| column(*index) != k && column(*index) != n - 1);
        kept.map(|(_, y)| *y).collect()
    };
    same_bits(
        "y in the other columns",
        &untouched(&got),
        &untouched(&plain),
    )?;
    Ok(Verdict::PASS)
}

/// The middle row of x, then the first, then the first of the second operand, holds NaN, on cases of
/// at most 20 000 elements.
pub(super) fn rows(trial: &Trial<'_>) -> Checked {
    let case = trial.case;
    let (rows, n) = (case.rows(), case.row_len());
    if rows < 2 {
        return Err(Verdict::skip("there is only one row"));
    }
    at_most(trial, 20_000)?;
    let want = Want::all(case);
    let plain = trial.run(&case.with_inputs("plain", case.inputs()), want)?;
    let second = case.variant.has_second().then_some((0, true));
    for (row, in_second) in [(rows / 2, false), (0, false)].into_iter().chain(second) {
        let mut inputs = case.inputs();
        match &mut inputs.second {
            Some(second) if in_second => *second = with_nan(case, second, row),
            _ => inputs.x = with_nan(case, &inputs.x, row),
        }
        let got = trial.run(&case.with_inputs("poisoned_row", inputs), want)?;
        let others = |values: &[f64]| {
            let values = case.in_rows(values);
            [&values[..row * n], &values[(row + 1) * n..]].concat()
        };
        for ((name, got), (_, plain)) in per_element(&got)?.into_iter().zip(per_element(&plain)?) {
            let what = format!("{name} of the other rows, with NaN in row {row}");
            same_bits(&what, &others(got), &others(plain))?;
        }
    }
    Ok(Verdict::PASS)
}

fn with_nan(case: &Case, values: &[f64], row: usize) -> Vec<f64> {
    let n = case.row_len();
    let mut values = case.in_rows(values);
    values[row * n..(row + 1) * n].fill(f64::NAN);
    case.in_axes(&values)
}
