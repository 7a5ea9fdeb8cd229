//! Rows far from 1: what f32 cannot square, and what is nothing beside epsilon, or nearly.

use crate::case::{AffineForm, Case, Fill, GateOrder, Variant};
use crate::kind::FloatKind;
use FloatKind::{BF16, F16, F32, F64};

/// Large rows with a usual epsilon, small ones with one of their squares' size.
fn far(kind: FloatKind, shape: &[usize], factor: f64) -> Case {
    let epsilon = if factor < 1.0 { 1e-37 } else { 1e-6 };
    Case::new("far_values", kind, shape)
        .epsilon(epsilon)
        .fill(Fill::ScaledP(factor))
}

/// Large and small values, and large and small rstd.
pub(super) fn far_values() -> Vec<Case> {
    let mut cases = vec![];
    for row_len in [3072, 3073] {
        for factor in [1e9, 1e15, 1e25] {
            cases.push(
                Case::new("huge_values", F32, &[3, row_len])
                    .epsilon(1e-6)
                    .fill(Fill::ScaledP(factor)),
            );
        }
    }
    for kind in [F32, F64, BF16] {
        cases.push(
            Case::new("tiny_values", kind, &[2, 4])
                .epsilon(1e-12)
                .fill(Fill::Constant(1e-20)),
        );
        cases.push(
            Case::new("huge_rstd", kind, &[3, 17])
                .epsilon(1e-30)
                .fill(Fill::ScaledP(1e-14)),
        );
        cases.push(
            Case::new("tiny_rstd", kind, &[3, 17])
                .fill(Fill::ScaledP(1e17))
                .affine(AffineForm::Scale),
        );
    }
    for (factor, shape) in [
        (1e35, &[3, 64][..]),
        (1e35, &[3, 1000]),
        (1e35, &[2, 9000]),
        (3e-19, &[3, 96]),
    ] {
        cases.push(far(F32, shape, factor).affine(AffineForm::Scale));
    }
    cases.push(far(BF16, &[3, 256], 1e32).affine(AffineForm::ScaleShift));
    // The statistic ends within a vector.
    cases.push(far(F32, &[5, 36], 1e35).partial(Some(0.5)));
    cases.push(far(F32, &[2, 100, 16], 1e35).axis(1));
    // Every rounding of a running sum errs the same way.
    cases.push(
        far(F32, &[2, 9000], 1.0)
            .epsilon(1e-6)
            .fill(Fill::Constant(1e35)),
    );
    cases.push(
        far(F32, &[3, 130], 1e35)
            .variant(Variant::Add)
            .second_fill(Fill::ScaledR(1e35)),
    );
    let gated = |kind, factor| {
        far(kind, &[3, 72], factor)
            .variant(Variant::Gated(GateOrder::BeforeNorm))
            .second_fill(Fill::R)
    };
    cases.push(gated(F32, 1e33));
    // What a shut gate leaves of a row of f16 is no number of f16, nor is its square one of f32.
    cases.push(
        gated(F16, 1.0)
            .epsilon(2_f64.powi(-146))
            .second_fill(Fill::Constant(-60.0)),
    );
    cases.push(far(F64, &[2, 40], 1e150));
    cases
}
