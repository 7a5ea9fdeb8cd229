//! Cases with a gate.

use super::layouts::ALL;
use super::{ODD, affine, kind};
use crate::case::{AffineForm, Case, Fill, GammaForm, GammaLayout, GateOrder, Layout, Variant};
use crate::kind::FloatKind;
use FloatKind::{BF16, F16, F32};
use GateOrder::{AfterNorm, BeforeNorm};

fn gated(group: &str, order: GateOrder, x_kind: FloatKind, shape: &[usize]) -> Case {
    Case::new(group, x_kind, shape)
        .variant(Variant::Gated(order))
        .fill(Fill::ScaledP(ODD))
        .second_fill(Fill::ScaledR(ODD))
}

fn order(index: usize) -> GateOrder {
    [AfterNorm, BeforeNorm][index % 2]
}

/// Shapes, kinds, parameters, fractions, layouts and conventions.
pub(super) fn gates() -> Vec<Case> {
    let mut cases = vec![];
    let shapes: [&[usize]; 10] = [
        &[1],
        &[65],
        &[5, 1],
        &[3, 7],
        &[0, 8],
        &[2, 3, 64],
        &[2, 2, 3, 33],
        &[1, 2, 1, 3, 130],
        &[5, 255],
        &[7, 96],
    ];
    for (index, shape) in shapes.into_iter().enumerate() {
        for turn in 0..2 {
            let partial = [None, Some(0.5), None][(index + turn) % 3];
            let case = gated("gate", order(turn), kind(index + 2 * turn), shape);
            cases.push(case.affine(affine(index + turn)).partial(partial));
        }
    }
    for (index, layout) in ALL.into_iter().enumerate() {
        let shapes: [&[usize]; 2] = [&[9, 33], &[2, 8, 5]];
        for (turn, shape) in shapes.into_iter().enumerate() {
            let case = gated(
                "gate_layout",
                order(index + turn),
                kind(index + turn),
                shape,
            );
            let others = [Layout::Dense, layout][turn];
            cases.push(
                case.affine(affine(index + turn + 1))
                    .layouts(others, Layout::Dense, GammaLayout::Dense)
                    .second_layout(layout),
            );
        }
    }
    // Rows that are read where they lie: at a pitch of their own.
    let sliced = gated("gate_layout", AfterNorm, F32, &[5, 64]).affine(AffineForm::Scale);
    cases.push(sliced.second_layout(Layout::MiddleThird));
    for (index, x_kind) in FloatKind::ALL.into_iter().enumerate() {
        for order in [AfterNorm, BeforeNorm] {
            // All of exp's range.
            let sweep = gated("gate_sweep", order, x_kind, &[4, 181]).affine(affine(index + 1));
            cases.push(sweep.second_fill(Fill::Sweep));
            let zeros = gated("gate_zeros", order, x_kind, &[4, 24]).affine(AffineForm::ScaleShift);
            let partial = [None, Some(0.25)][usize::from(order == BeforeNorm) ^ (index % 2)];
            cases.push(
                zeros
                    .fill(Fill::ZeroRows)
                    .second_fill(Fill::Zeros)
                    .partial(partial),
            );
            let centred = gated("gate_centred", order, x_kind, &[3, 40]).zero_centered(true);
            cases.push(
                centred
                    .affine(affine(index % 2 + 1))
                    .gamma_fill(Fill::ScaledB(0.3)),
            );
            cases.push(gated("gate_long", order, x_kind, &[3, 4096]).affine(affine(index)));
        }
        let new = |group, turn, shape: &[usize]| gated(group, order(index + turn), x_kind, shape);
        // Rows of which nothing is left.
        let shut = new("gate_shut", 0, &[3, 17]).affine(AffineForm::Scale);
        cases.push(shut.second_fill(Fill::Constant(-90.0)));
        let kinds = new("gate_kinds", index / 2, &[5, 96]).affine(AffineForm::ScaleShift);
        cases.push(kinds.parameter_kinds(kind(index + 1), kind(index + 3)));
        // Mamba-2's norm: a gate before groups.
        cases.push(
            gated("gate_groups", BeforeNorm, x_kind, &[5, 96])
                .affine(AffineForm::Scale)
                .gamma_form(GammaForm::Groups(4)),
        );
        cases.push(
            gated("gate_heads", AfterNorm, x_kind, &[2, 3, 4, 16])
                .affine(AffineForm::ScaleShift)
                .gamma_form(GammaForm::Heads)
                .partial(Some(0.25)),
        );
    }
    for (x_kind, order, rows, row_len) in [
        (F32, AfterNorm, 2100, 65),
        (F32, BeforeNorm, 4099, 33),
        (BF16, BeforeNorm, 1100, 64),
        (F16, AfterNorm, 1025, 130),
        (F32, BeforeNorm, 2, 8193),
    ] {
        let case = gated("gate_large", order, x_kind, &[rows, row_len]);
        cases.push(case.affine(AffineForm::ScaleShift));
    }
    for order in [AfterNorm, BeforeNorm] {
        cases.push(gated("gate_whole_partial", order, F32, &[5, 33]).partial(Some(1.0)));
    }
    cases
}
