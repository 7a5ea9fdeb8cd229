//! What must NaN not reach?

use super::{Checked, Verdict, at_most, same_bits};
use crate::judge::Trial;
use crate::subject::Want;

/// Column k holds NaN and the last column the largest value of the kind, on cases of at most
/// 20 000 elements.
pub(super) fn prefix(trial: &Trial<'_>) -> Checked {
    let case = trial.case;
    let (n, k) = (case.row_len(), case.stat_len());
    if k == n {
        return Err(Verdict::skip("the statistic reads every column"));
    }
    at_most(trial, 20_000)?;
    let plain = trial
        .run(
            &case.with_values("plain", case.x(), case.dy()),
            Want::NOTHING,
        )?
        .y;
    let mut x = case.x();
    for row in x.chunks_exact_mut(n) {
        row[n - 1] = case.x_kind.max_finite();
        row[k] = f64::NAN;
    }
    let got = trial
        .run(
            &case.with_values("poisoned_tail", x, case.dy()),
            Want::NOTHING,
        )?
        .y;
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

/// The middle row, and then the first, holds NaN, on cases of at most 20 000 elements.
pub(super) fn rows(trial: &Trial<'_>) -> Checked {
    let case = trial.case;
    let (rows, n) = (case.rows(), case.row_len());
    if rows < 2 {
        return Err(Verdict::skip("there is only one row"));
    }
    at_most(trial, 20_000)?;
    let want = Want::all(case.affine);
    let plain = trial.run(&case.with_values("plain", case.x(), case.dy()), want)?;
    for poisoned in [rows / 2, 0] {
        let mut x = case.x();
        x[poisoned * n..(poisoned + 1) * n].fill(f64::NAN);
        let got = trial.run(&case.with_values("poisoned_row", x, case.dy()), want)?;
        let others =
            |values: &[f64]| [&values[..poisoned * n], &values[(poisoned + 1) * n..]].concat();
        let what = format!("of the other rows, with NaN in row {poisoned}");
        same_bits(&format!("y {what}"), &others(&got.y), &others(&plain.y))?;
        match (&got.dx, &plain.dx) {
            (Some((got, _)), Some((plain, _))) => {
                same_bits(&format!("dx {what}"), &others(got), &others(plain))?;
            }
            _ => return Err(Verdict::Fail("dx is missing".into())),
        }
    }
    Ok(Verdict::PASS)
}
