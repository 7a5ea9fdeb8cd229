//! Cases whose tensors are views.

use super::{ODD, affine, kind};
use crate::case::{AffineForm, Case, Fill, GammaLayout, Layout};
use crate::kind::FloatKind;

/// The layouts of x and dy, apart from dense and windows.
pub(super) const ALL: [Layout; 9] = [
    Layout::Transposed,
    Layout::Permuted,
    Layout::NarrowedLast,
    Layout::MiddleThird,
    Layout::NarrowedFirst,
    Layout::Step2,
    Layout::Flipped,
    Layout::BroadcastRows,
    Layout::BroadcastAll,
];

/// The layouts of gamma and beta, apart from dense.
pub(super) const GAMMA: [GammaLayout; 5] = [
    GammaLayout::Expanded,
    GammaLayout::Step2,
    GammaLayout::Column,
    GammaLayout::Narrowed,
    GammaLayout::Flipped,
];

/// The kinds apart from f32, which everything is run in.
const OTHERS: [FloatKind; 3] = [FloatKind::F16, FloatKind::BF16, FloatKind::F64];

/// Every layout of x, of dy, and of both, and windows.
pub(super) fn layouts() -> Vec<Case> {
    let shapes: [&[usize]; 4] = [&[9, 33], &[2, 8, 5], &[5, 3, 64], &[2, 3, 2, 130]];
    let dense = GammaLayout::Dense;
    let mut cases = vec![];
    for (index, layout) in ALL.into_iter().enumerate() {
        for (turn, shape) in shapes.into_iter().enumerate() {
            let partial = [None, Some(0.5)][(index + turn) % 2];
            let new = |group, x_kind| {
                let case = Case::new(group, x_kind, shape).affine(affine(index + turn));
                case.fill(Fill::ScaledP(ODD)).partial(partial)
            };
            cases.push(new("layout", kind(index + turn)).layouts(layout, Layout::Dense, dense));
            cases.push(new("layout", FloatKind::F32).layouts(layout, layout, dense));
            if turn % 2 == 1 {
                cases.push(new("layout", kind(index + turn / 2 + 1)).layouts(
                    Layout::Dense,
                    layout,
                    dense,
                ));
            }
        }
    }
    let windows: [(&[usize], usize); 5] = [
        (&[1, 9, 4], 1),
        (&[1, 3, 4], 4),
        (&[2, 5, 8], 2),
        (&[7, 16], 3),
        (&[3, 4, 65], 64),
    ];
    for (index, (shape, step)) in windows.into_iter().enumerate() {
        for x_kind in [FloatKind::F32, OTHERS[index % 3]] {
            let case = Case::new("windows", x_kind, shape).affine(affine(index));
            cases.push(case.layouts(Layout::Unfolded { step }, Layout::Dense, dense));
        }
    }
    let one_row = [Layout::NarrowedLast, Layout::Step2, Layout::Flipped];
    cases.extend(one_row.map(|layout| {
        Case::new("layout", FloatKind::F32, &[65])
            .affine(AffineForm::Scale)
            .layouts(layout, layout, dense)
    }));
    cases
}

/// Every layout of gamma and beta.
pub(super) fn gamma_layouts() -> Vec<Case> {
    let mut cases = vec![];
    for (index, layout) in GAMMA.into_iter().enumerate() {
        for (turn, row_len) in [16, 33].into_iter().enumerate() {
            for x_kind in [FloatKind::F32, OTHERS[(index + turn) % 3]] {
                let form = if turn == 0 {
                    AffineForm::ScaleShift
                } else {
                    AffineForm::Scale
                };
                let case = Case::new("gamma_layout", x_kind, &[5, row_len]).affine(form);
                let x_layout = if turn == 0 {
                    Layout::Dense
                } else {
                    Layout::Transposed
                };
                let kinds = case.parameter_kinds(kind(index + turn), x_kind);
                cases.push(
                    kinds
                        .layouts(x_layout, Layout::Dense, layout)
                        .gamma_fill(Fill::Ramp),
                );
            }
        }
    }
    cases
}
