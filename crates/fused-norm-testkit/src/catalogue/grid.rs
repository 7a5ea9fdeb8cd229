//! Cases that walk through shapes, fractions, kinds and epsilons.

use super::{ODD, affine, kind};
use crate::case::{AffineForm, Case, Fill};
use crate::kind::FloatKind;

/// 288 numbers as ranks 1 to 8, as RMSNorm and with a partial statistic.
pub(super) fn ranks() -> Vec<Case> {
    let shapes: [&[usize]; 8] = [
        &[288],
        &[48, 6],
        &[8, 6, 6],
        &[2, 4, 6, 6],
        &[2, 2, 2, 6, 6],
        &[2, 2, 2, 1, 6, 6],
        &[1, 2, 2, 2, 1, 6, 6],
        &[1, 2, 1, 2, 2, 1, 6, 6],
    ];
    let mut cases = vec![];
    for (index, shape) in shapes.into_iter().enumerate() {
        cases.push(Case::new("rank", FloatKind::F32, shape).affine(AffineForm::Scale));
        let odd = Case::new("rank", kind(index), shape)
            .affine(affine(index))
            .fill(Fill::ScaledP(ODD));
        cases.push(odd.partial(Some(0.5)));
    }
    cases
}

/// Every length around which vectors, planes and cubes end, in every kind.
pub(super) fn lengths() -> Vec<Case> {
    let around = [16, 32, 64, 128, 256, 768, 1024]
        .into_iter()
        .flat_map(|n| n - 1..=n + 1);
    let lengths = [1, 2, 3, 5, 7, 8, 640, 1000].into_iter().chain(around);
    let mut cases = vec![];
    for (index, row_len) in lengths.enumerate() {
        for (turn, x_kind) in FloatKind::ALL.into_iter().enumerate() {
            let rows = [3, 7, 2, 5][(index + turn) % 4];
            let fill = if (index + turn).is_multiple_of(3) {
                Fill::P
            } else {
                Fill::ScaledP(ODD)
            };
            let partial = [None, Some(0.5), None, None, Some(0.0625)][(index + 2 * turn) % 5];
            let case = Case::new("length", x_kind, &[rows, row_len]).affine(affine(index + turn));
            cases.push(case.fill(fill).partial(partial));
        }
    }
    cases
}

/// Long rows, few of them.
pub(super) fn long() -> Vec<Case> {
    let mut cases = vec![];
    for (index, row_len) in [2560, 3584, 4096, 5120, 7168, 8192].into_iter().enumerate() {
        for (turn, x_kind) in FloatKind::ALL.into_iter().enumerate() {
            let partial = [None, None, Some(0.0625)][(index + turn) % 3];
            let case =
                Case::new("long", x_kind, &[3, row_len]).affine(affine(index + turn + turn / 3));
            cases.push(case.fill(Fill::ScaledP(ODD)).partial(partial));
        }
    }
    for (index, row_len) in [65_536, 65_537, 100_003, 131_072, 131_073]
        .into_iter()
        .enumerate()
    {
        let full = Case::new("very_long", FloatKind::F32, &[2, row_len]).affine(affine(index + 1));
        cases.push(full.fill(Fill::ScaledP(ODD)));
        let x_kind = [FloatKind::F16, FloatKind::BF16, FloatKind::F64][index % 3];
        let case = Case::new("very_long", x_kind, &[2, row_len]).affine(affine(index));
        cases.push(
            case.fill(Fill::ScaledP(ODD))
                .partial([None, Some(0.5)][index % 2]),
        );
    }
    cases
}

/// Every number of rows, none included, with short rows.
pub(super) fn rows() -> Vec<Case> {
    let mut cases = vec![];
    for (index, rows) in [0, 1, 2, 3, 7, 31, 33, 100, 1100, 4099]
        .into_iter()
        .enumerate()
    {
        for (turn, row_len) in [8, 16, 33, 64].into_iter().enumerate() {
            for offset in [0, 1] {
                let x_kind = kind(index + turn + 2 * offset);
                let case = Case::new("rows", x_kind, &[rows, row_len])
                    .affine(affine(index + turn + offset + 1));
                cases.push(
                    case.fill(Fill::ScaledP(ODD))
                        .partial([None, Some(0.5)][(index + turn) % 2]),
                );
            }
        }
    }
    for x_kind in FloatKind::ALL {
        cases.push(Case::new("rows", x_kind, &[2, 0, 5]).affine(AffineForm::ScaleShift));
    }
    cases
}

/// Fractions against lengths, the rounding of `n * p` included.
pub(super) fn partials() -> Vec<Case> {
    let mut cases = vec![];
    let fractions = [1e-9, 0.0625, 0.1, 0.5, 0.999, 1.0];
    for (index, row_len) in [1, 7, 8, 33, 200, 512, 1000, 4096].into_iter().enumerate() {
        for (turn, partial) in fractions.into_iter().enumerate() {
            let case = Case::new("partial", kind(index + turn), &[4, row_len])
                .affine(affine(index + turn / 2));
            cases.push(case.fill(Fill::ScaledP(ODD)).partial(Some(partial)));
        }
    }
    for (row_len, partial) in [
        (100, 0.07),
        (100, 0.28),
        (100, 0.55),
        (50, 0.14),
        (200, 0.035),
        (10, 0.1),
        (3, 0.1),
    ] {
        let case = Case::new("partial_rounding", FloatKind::F32, &[5, row_len]);
        cases.push(case.affine(AffineForm::ScaleShift).partial(Some(partial)));
    }
    for stat_len in 1..=9_usize {
        let case = Case::new("partial_each", kind(stat_len), &[6, 9]).affine(AffineForm::Scale);
        cases.push(
            case.fill(Fill::ScaledP(ODD))
                .partial(Some(stat_len as f64 / 9.0)),
        );
    }
    cases
}

/// Every kind of x with every kind of gamma and of beta.
pub(super) fn kinds() -> Vec<Case> {
    let mut cases = vec![];
    for x in FloatKind::ALL {
        for (index, gamma) in FloatKind::ALL.into_iter().enumerate() {
            let scale = Case::new("kinds", x, &[6, 96]).affine(AffineForm::Scale);
            cases.push(scale.parameter_kinds(gamma, x).fill(Fill::ScaledP(ODD)));
            for (turn, shape) in [[7, 130], [5, 33]].into_iter().enumerate() {
                let beta = kind(index + 2 * turn + 1);
                let shift = Case::new("kinds", x, &shape).affine(AffineForm::ScaleShift);
                let partial = [None, Some(0.5)][turn];
                cases.push(
                    shift
                        .parameter_kinds(gamma, beta)
                        .fill(Fill::ScaledP(ODD))
                        .partial(partial),
                );
            }
        }
    }
    cases
}

/// Epsilons from dominant to negligible on one shape and value, so that a stale one shows.
pub(super) fn epsilons() -> Vec<Case> {
    let mut cases = vec![];
    for x_kind in FloatKind::ALL {
        for epsilon in [1e-1, 1e-3, 1e-6, 1e-8, 1e-12] {
            let case = Case::new("epsilon", x_kind, &[2, 8]).epsilon(epsilon);
            cases.push(case.clone().fill(Fill::Constant(0.1)));
            cases.push(case.fill(Fill::ScaledP(1e-3)).affine(AffineForm::Scale));
        }
    }
    cases
}
