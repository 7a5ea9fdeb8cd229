//! Cases that normalise over another axis than the last.

use super::{ODD, affine, kind};
use crate::case::{AffineForm, Case, Fill, GammaLayout, GateOrder, Layout, Rounding, Variant};
use crate::kind::FloatKind;
use FloatKind::{BF16, F16, F32};

/// Each axis but the last, of dense and of permuted tensors.
pub(super) fn axes() -> Vec<Case> {
    let mut cases = vec![];
    let new = |x_kind, shape: &[usize], axis| {
        let case = Case::new("axis", x_kind, shape).axis(axis);
        case.fill(Fill::ScaledP(ODD))
    };
    let shapes: [(&[usize], usize); 17] = [
        (&[33, 5], 1),
        (&[7, 64], 1),
        (&[1, 9], 1),
        (&[2, 17, 3], 1),
        (&[2, 40, 1], 1),
        (&[3, 5, 130], 1),
        (&[17, 2, 3], 2),
        (&[2, 6, 4, 5], 2),
        (&[2, 3, 4, 5], 1),
        (&[8, 2, 3, 5], 3),
        (&[2, 33, 2, 1, 3], 3),
        (&[1, 2, 3, 4, 7], 4),
        (&[0, 4, 3], 1),
        (&[2, 4, 0], 1),
        (&[2, 256, 9], 1),
        (&[1, 1025, 3], 1),
        (&[2, 96, 7, 7], 2),
    ];
    for (index, (shape, axis)) in shapes.into_iter().enumerate() {
        for turn in 0..2 - (index % 4).min(1) {
            let partial = [None, Some(0.5), None][(index + turn) % 3];
            let case = new(kind(index + 2 * turn), shape, axis).affine(affine(index + turn));
            cases.push(case.partial(partial));
        }
    }
    let layouts = [
        Layout::Transposed,
        Layout::Permuted,
        Layout::NarrowedLast,
        Layout::NarrowedFirst,
        Layout::Step2,
        Layout::Flipped,
        Layout::BroadcastRows,
        Layout::BroadcastAll,
    ];
    for (index, layout) in layouts.into_iter().enumerate() {
        let dense = GammaLayout::Dense;
        let case = new(kind(index), &[3, 12, 5], 1).affine(affine(index));
        let others = [Layout::Dense, layout][index % 2];
        cases.push(case.layouts(layout, others, dense));
        let case = new(kind(index + 1), &[2, 9, 3, 4], 2).affine(affine(index + 1));
        let others = [layout, Layout::Dense][index % 2];
        cases.push(case.layouts(layout, others, dense));
    }
    for (index, x_kind) in FloatKind::ALL.into_iter().enumerate() {
        let scale = AffineForm::Scale;
        let case = |shape: &[usize], axis| new(x_kind, shape, axis).affine(scale);
        let centred = case(&[2, 24, 5], 1).zero_centered(true);
        cases.push(centred.gamma_fill(Fill::ScaledB(0.2)));
        let llama = case(&[2, 24, 5], 1).rounding(Rounding::BeforeGamma);
        cases.push(llama.affine(affine(index + 1)));
        cases.push(
            case(&[2, 24, 5], 1)
                .variant(Variant::Add)
                .dsum_fill(Some(Fill::B)),
        );
        let order = [GateOrder::AfterNorm, GateOrder::BeforeNorm][index % 2];
        cases.push(case(&[2, 24, 5], 1).variant(Variant::Gated(order)));
        let kinds = case(&[20, 2, 3, 2], 3).affine(AffineForm::ScaleShift);
        cases.push(
            kinds
                .parameter_kinds(kind(index + 1), kind(index + 2))
                .partial(Some(0.25)),
        );
        cases.push(case(&[4, 24, 3], 1).fill(Fill::ZeroRows));
    }
    cases.push(new(F32, &[3, 64, 32, 32], 2).affine(AffineForm::ScaleShift));
    cases.push(new(BF16, &[1, 96, 1400], 1).affine(AffineForm::Scale));
    cases.push(new(F16, &[5, 4096, 4], 1).affine(AffineForm::Scale));
    cases.push(new(F32, &[513, 16, 9], 1).affine(AffineForm::ScaleShift));
    cases.push(new(F32, &[2, 8, 5], 1).partial(Some(1.0)));
    cases
}
