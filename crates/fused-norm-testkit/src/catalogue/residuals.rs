//! Cases with a residual that is added before the norm.

use super::layouts::ALL;
use super::{ODD, affine, kind};
use crate::case::{AffineForm, Case, Fill, GammaLayout, Layout, Rounding, Variant};
use crate::kind::FloatKind;
use FloatKind::{BF16, F16, F32, F64};

fn add(group: &str, x_kind: FloatKind, shape: &[usize]) -> Case {
    Case::new(group, x_kind, shape)
        .variant(Variant::Add)
        .fill(Fill::ScaledP(ODD))
        .second_fill(Fill::ScaledR(ODD))
}

/// The gradient into the sum, present two times of three.
fn dsum(index: usize) -> Option<Fill> {
    [None, Some(Fill::ScaledR(0.37)), Some(Fill::B)][index % 3].clone()
}

/// Shapes, kinds, parameters, fractions, layouts and conventions.
pub(super) fn residuals() -> Vec<Case> {
    let mut cases = vec![];
    let shapes: [&[usize]; 12] = [
        &[1],
        &[33],
        &[5, 1],
        &[3, 7],
        &[7, 16],
        &[0, 8],
        &[2, 3, 64],
        &[2, 2, 3, 33],
        &[1, 2, 1, 3, 130],
        &[5, 255],
        &[1, 1000],
        &[9, 96],
    ];
    for (index, shape) in shapes.into_iter().enumerate() {
        for turn in 0..1 + (index + 1) % 2 {
            let partial = [None, Some(0.5), None][(index + turn) % 3];
            let case = add("add", kind(index + 2 * turn), shape).affine(affine(index + turn));
            cases.push(case.partial(partial).dsum_fill(dsum(index + turn)));
        }
    }
    for (index, layout) in ALL.into_iter().enumerate() {
        let shapes: [&[usize]; 2] = [&[9, 33], &[2, 8, 5]];
        for (turn, shape) in shapes.into_iter().enumerate().skip(index % 2) {
            let case = add("add_layout", kind(index + turn), shape).affine(affine(index + turn));
            let others = [Layout::Dense, layout][turn];
            cases.push(
                case.layouts(others, Layout::Dense, GammaLayout::Dense)
                    .second_layout(layout)
                    .dsum_fill(dsum(index)),
            );
        }
    }
    // Rows that are read where they lie: at a pitch of their own.
    let sliced = add("add_layout", F32, &[5, 64]).affine(AffineForm::Scale);
    cases.push(sliced.second_layout(Layout::MiddleThird));
    for (index, x_kind) in FloatKind::ALL.into_iter().enumerate() {
        let long = |rows, row_len| {
            add("add_long", x_kind, &[rows, row_len]).affine(affine(index + row_len % 2))
        };
        cases.push(long(3, 4096).dsum_fill(dsum(index + 1)));
        cases.push(long(2, 8193).partial(Some(0.0625)));
        // Where zero rows meet a residual, and where the residual takes x away.
        let case = add("add_zeros", x_kind, &[4, 24]).affine(AffineForm::ScaleShift);
        cases.push(
            case.clone()
                .fill(Fill::ZeroRows)
                .second_fill(Fill::ZeroRows)
                .dsum_fill(Some(Fill::Q)),
        );
        cases.push(
            case.fill(Fill::Alternating(1.5))
                .second_fill(Fill::Alternating(-1.5)),
        );
        let kinds = add("add_kinds", x_kind, &[5, 96])
            .affine(AffineForm::ScaleShift)
            .parameter_kinds(kind(index + 1), kind(index + 2));
        cases.push(kinds.dsum_fill(dsum(index + 1)));
        // Gradients of very different size.
        cases.push(
            add("add_gradients", x_kind, &[3, 40])
                .affine(AffineForm::Scale)
                .dsum_fill(Some(Fill::ScaledQ(300.0))),
        );
        cases.push(
            add("add_conventions", x_kind, &[3, 40])
                .affine(affine(index + 1))
                .zero_centered(true)
                .gamma_fill(Fill::ScaledB(0.3))
                .rounding(Rounding::BeforeGamma)
                .dsum_fill(dsum(index)),
        );
    }
    cases.push(add("add_many_rows", F32, &[4099, 33]).affine(AffineForm::ScaleShift));
    cases.push(
        add("add_many_rows", BF16, &[1100, 64])
            .affine(AffineForm::Scale)
            .dsum_fill(Some(Fill::Q)),
    );
    cases.push(add("add_many_rows", F16, &[1025, 100]).affine(AffineForm::Scale));
    cases.push(add("add_whole_partial", F32, &[5, 33]).partial(Some(1.0)));
    cases.push(add("add_whole_partial", F64, &[5, 33]).partial(Some(1.0)));
    cases
}
