//! Cases of other conventions for gamma: around zero, after a rounding, in groups, a head each.

use super::{ODD, affine, kind};
use crate::case::{AffineForm, Case, Fill, GammaForm, GammaLayout, Layout, Rounding};
use crate::kind::FloatKind;
use FloatKind::{BF16, F16, F32, F64};

/// Gamma stored around zero.
pub(super) fn zero_centered() -> Vec<Case> {
    let mut cases = vec![];
    let new = |group, x_kind, shape: &[usize]| {
        let case = Case::new(group, x_kind, shape).zero_centered(true);
        case.fill(Fill::ScaledP(ODD)).affine(AffineForm::Scale)
    };
    for (index, x_kind) in FloatKind::ALL.into_iter().enumerate() {
        // Smaller than what a 16-bit kind can tell from 0 beside 1.
        let small = new("centred_small", x_kind, &[4, 96]).gamma_fill(Fill::ScaledB(0.003));
        cases.push(small.parameter_kinds(if x_kind == F64 { F64 } else { F32 }, F32));
        let own = new("centred", x_kind, &[6, 33]).affine(affine(index % 2 + 1));
        cases.push(
            own.gamma_fill(Fill::ScaledB(0.3))
                .partial([None, Some(0.5)][index % 2]),
        );
        cases.push(new("centred", x_kind, &[3, 4096]).gamma_fill(Fill::B));
        // As initialised: a factor of exactly 1.
        cases.push(new("centred_zero", x_kind, &[3, 17]).gamma_fill(Fill::Zeros));
        for gamma in [kind(index + 1), kind(index + 2)] {
            let mixed = new("centred_kinds", x_kind, &[5, 40]).gamma_fill(Fill::ScaledB(0.1));
            cases.push(mixed.parameter_kinds(gamma, x_kind));
        }
        // Without gamma there is nothing to centre.
        cases.push(new("centred_none", x_kind, &[2, 8]).affine(AffineForm::None));
    }
    cases.push(new("centred", F32, &[4099, 33]).gamma_fill(Fill::ScaledB(0.1)));
    // bf16 holds 15.8125 but not 16.8125.
    let cast = new("centred_cast", F32, &[1, 2]).epsilon(1e-8);
    let cast = cast.fill(Fill::given(vec![1.0, 0.0]));
    cases.push(
        cast.parameter_kinds(BF16, BF16)
            .gamma_fill(Fill::given(vec![15.8125, 0.0])),
    );
    cases
}

/// Rows that are rounded before gamma, as LLaMA's code does.
pub(super) fn before_gamma() -> Vec<Case> {
    let mut cases = vec![];
    for (index, x_kind) in FloatKind::ALL.into_iter().enumerate() {
        let new = |shape: &[usize]| {
            let case = Case::new("llama", x_kind, shape).rounding(Rounding::BeforeGamma);
            case.fill(Fill::ScaledP(ODD)).affine(AffineForm::Scale)
        };
        cases.push(new(&[4, 4096]).fill(Fill::P));
        cases.push(new(&[5, 33]).affine(AffineForm::ScaleShift));
        cases.push(new(&[3, 17]).affine(AffineForm::None));
        cases.push(new(&[7, 1]).affine(affine(index + 1)));
        cases.push(
            new(&[2, 3, 40])
                .partial(Some(0.3))
                .affine(AffineForm::ScaleShift),
        );
        cases.push(new(&[2, 8, 5]).layouts(Layout::Transposed, Layout::Dense, GammaLayout::Step2));
        let centred = new(&[5, 40])
            .zero_centered(true)
            .gamma_fill(Fill::ScaledB(0.1));
        cases.push(centred.parameter_kinds(kind(index + 1), x_kind));
        // Gamma of both signs, in a kind of its own.
        let signs = new(&[5, 48]).affine(AffineForm::ScaleShift);
        cases.push(
            signs
                .parameter_kinds(kind(index + 1), kind(index + 2))
                .gamma_fill(Fill::ScaledB(ODD)),
        );
        cases.push(new(&[3, 40]).gamma_form(GammaForm::Groups(5)));
    }
    let many = Case::new("llama", BF16, &[1025, 130]).rounding(Rounding::BeforeGamma);
    cases.push(many.affine(AffineForm::Scale).fill(Fill::ScaledP(ODD)));
    cases
}

/// The last axis cut into groups, and gamma for each head.
pub(super) fn gamma_rows() -> Vec<Case> {
    let mut cases = vec![];
    let groups = |x_kind, shape: &[usize], groups| {
        let case = Case::new("groups", x_kind, shape).gamma_form(GammaForm::Groups(groups));
        case.fill(Fill::ScaledP(ODD))
    };
    let heads = |x_kind, shape: &[usize]| {
        let case = Case::new("heads", x_kind, shape).gamma_form(GammaForm::Heads);
        case.fill(Fill::ScaledP(ODD))
    };
    let shapes: [(&[usize], usize); 10] = [
        (&[64], 4),
        (&[5, 96], 3),
        (&[3, 8], 8),
        (&[2, 3, 130], 2),
        (&[2, 2, 2, 40], 5),
        (&[1, 2, 1, 2, 66], 6),
        (&[0, 12], 4),
        (&[7, 33], 1),
        (&[2, 4096], 8),
        (&[130, 96], 12),
    ];
    for (index, (shape, count)) in shapes.into_iter().enumerate() {
        for turn in 0..2 - (index % 4).min(1) {
            let partial = [None, Some(0.5)][(index + turn) % 2];
            let case = groups(kind(index + 2 * turn), shape, count).partial(partial);
            cases.push(case.affine(affine(index + turn + 1)));
        }
    }
    let shapes: [&[usize]; 9] = [
        &[4, 16],
        &[2, 3, 33],
        &[2, 5, 4, 8],
        &[5, 1, 7],
        &[3, 6, 1],
        &[1, 2, 2, 3, 64],
        &[0, 4, 8],
        &[33, 12, 64],
        &[2, 2, 4096],
    ];
    for (index, shape) in shapes.into_iter().enumerate() {
        for turn in 0..2 - (index % 4).min(1) {
            let partial = [None, Some(0.5)][(index + turn) % 2];
            let case = heads(kind(index + 2 * turn + 1), shape).partial(partial);
            cases.push(case.affine(affine(index + turn + 1)));
        }
    }
    for (index, x_kind) in FloatKind::ALL.into_iter().enumerate() {
        let dense = Layout::Dense;
        let scale = AffineForm::Scale;
        let layout = [Layout::Transposed, Layout::MiddleThird, Layout::Permuted][index % 3];
        cases.push(groups(x_kind, &[6, 40], 4).affine(scale).layouts(
            layout,
            dense,
            GammaLayout::Flipped,
        ));
        let column = [GammaLayout::Step2, GammaLayout::Column][index % 2];
        let shift = heads(x_kind, &[2, 3, 4, 8])
            .affine(AffineForm::ScaleShift)
            .partial(Some(0.5));
        cases.push(shift.layouts(layout, layout, column));
        // Attention holds heads in the axis before the last but one.
        cases.push(
            heads(x_kind, &[2, 5, 3, 16])
                .affine(scale)
                .zero_centered(true)
                .gamma_fill(Fill::ScaledB(0.2)),
        );
        let kinds = groups(x_kind, &[5, 48], 3)
            .affine(AffineForm::ScaleShift)
            .partial(Some(0.25));
        cases.push(kinds.parameter_kinds(kind(index + 1), kind(index + 2)));
    }
    cases.push(heads(BF16, &[600, 4, 64]).affine(AffineForm::ScaleShift));
    cases.push(groups(F32, &[1400, 96], 4).affine(AffineForm::ScaleShift));
    cases.push(groups(F16, &[1030, 64], 2).affine(AffineForm::Scale));
    cases
}
