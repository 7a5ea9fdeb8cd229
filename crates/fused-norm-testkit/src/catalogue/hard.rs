//! Values and shapes on which implementations of RMSNorm have gone wrong.

use super::ODD;
use crate::case::{AffineForm, Case, Fill, GammaLayout, Layout};
use crate::kind::FloatKind;
use FloatKind::{BF16, F16, F32, F64};

/// Statistics that overflow, stall, lose precision or meet epsilon.
pub(super) fn statistics() -> Vec<Case> {
    let mut cases = vec![];
    for kind in [F16, BF16, F32] {
        let overflow = |shape: &[usize]| Case::new("squares_overflow", kind, shape).epsilon(1e-6);
        cases.push(
            overflow(&[2, 8])
                .fill(Fill::Alternating(300.0))
                .dy_fill(Fill::P),
        );
        cases.push(overflow(&[2, 4096]).fill(Fill::Alternating(16.0)));
        cases.push(overflow(&[2, 8]).fill(Fill::Alternating(60_000.0)));
        let outlier = Fill::Outlier {
            first: 800.0,
            rest: 0.5,
        };
        cases.push(Case::new("overflow_hidden_by_zero", kind, &[1, 768]).fill(outlier));
    }
    cases.push(
        Case::new("epsilon_inside", F32, &[1, 4])
            .epsilon(1e-6)
            .fill(Fill::Constant(1e-3)),
    );
    cases.push(
        Case::new("epsilon_inside", F64, &[1, 4])
            .epsilon(1e-6)
            .fill(Fill::Constant(1e-3)),
    );
    let mut rows = vec![0.0625; 2048];
    rows[0] = 100.0;
    rows[1024..].fill(0.0);
    for kind in [F32, F64, BF16] {
        cases.push(
            Case::new("outlier_and_zero_row", kind, &[2, 1024]).fill(Fill::given(rows.clone())),
        );
    }
    for kind in [F16, BF16] {
        let case = |fill| {
            Case::new("rounds_once", kind, &[16, 256])
                .epsilon(1e-6)
                .affine(AffineForm::Scale)
                .fill(fill)
        };
        cases.push(case(Fill::P));
        cases.push(case(Fill::ScaledP(ODD)));
        cases.push(
            case(Fill::ScaledP(ODD))
                .parameter_kinds(F32, F32)
                .affine(AffineForm::ScaleShift),
        );
    }
    let ones = |kind, row_len| {
        let case = Case::new("sum_stalls", kind, &[1, row_len])
            .epsilon(1e-6)
            .fill(Fill::Constant(1.0));
        case.dy_fill(Fill::Constant(1.0))
    };
    cases.extend([ones(BF16, 5376), ones(F16, 4096), ones(F32, 5376)]);
    for row_len in [1024, 2048, 4096, 8192, 65_536] {
        let rows = if row_len > 10_000 { 2 } else { 4 };
        cases.push(
            Case::new("spikes", F32, &[rows, row_len])
                .epsilon(1e-6)
                .fill(Fill::Spikes),
        );
    }
    let pi = Fill::ScaledP(std::f64::consts::PI);
    cases.push(
        Case::new("double_precision", F64, &[4, 257])
            .fill(pi.clone())
            .affine(AffineForm::ScaleShift),
    );
    cases.push(
        Case::new("double_precision", F64, &[4, 257])
            .fill(pi)
            .partial(Some(0.3))
            .affine(AffineForm::Scale),
    );
    cases.push(
        Case::new("double_precision", F64, &[1, 8])
            .fill(Fill::Zeros)
            .dy_fill(Fill::Constant(1.0)),
    );
    let smallest = 1.0 / f64::from(1 << 24);
    for fill in [Fill::Zeros, Fill::Constant(smallest)] {
        let ones = Case::new("subnormal_input", F16, &[1, 4])
            .epsilon(1e-12)
            .fill(fill);
        cases.push(ones.dy_fill(Fill::Constant(1e-3)));
    }
    for (x, epsilon) in [(1e-3, 1e-6), (0.0, 1e-6), (3.0, 1e-5), (-3.0, 1e-5)] {
        for kind in FloatKind::ALL {
            let case = Case::new("row_of_one", kind, &[5, 1])
                .epsilon(epsilon)
                .fill(Fill::Constant(x));
            cases.push(case.dy_fill(Fill::Constant(1.0)));
        }
    }
    cases
}

/// Gradients with zero rows, zero gamma, partial statistics and long sums.
pub(super) fn gradients() -> Vec<Case> {
    let mut cases = vec![];
    let rows = [[1.0, 2.0, 3.0, 4.0], [0.0; 4], [1.0, 2.0, 3.0, 4.0]].concat();
    let dy = [[0.0; 4], [1.0, 1.0, 1.0, -1.0], [0.0; 4]].concat();
    for kind in FloatKind::ALL {
        let zero_row = Case::new("zero_row", kind, &[3, 4])
            .epsilon(1e-6)
            .affine(AffineForm::Scale);
        let zero_row = zero_row
            .gamma_fill(Fill::Ramp)
            .dy_fill(Fill::given(dy.clone()));
        cases.push(zero_row.fill(Fill::given(rows.clone())));
        let mixed = Case::new("zero_rows", kind, &[8, 40])
            .affine(AffineForm::ScaleShift)
            .fill(Fill::ZeroRows);
        cases.push(mixed.partial(Some(0.25)));
        cases.push(
            Case::new("only_zeros", kind, &[4])
                .fill(Fill::Zeros)
                .dy_fill(Fill::Constant(-1.0))
                .affine(AffineForm::Scale),
        );
        cases.push(
            Case::new("no_parameters", kind, &[1, 4])
                .epsilon(1e-6)
                .fill(Fill::Ramp)
                .dy_fill(Fill::Constant(1.0)),
        );

        let zero_gamma = Case::new("zero_gamma", kind, &[1, 4])
            .epsilon(1e-6)
            .affine(AffineForm::Scale)
            .fill(Fill::Ramp);
        let zero_gamma = zero_gamma.dy_fill(Fill::Constant(1.0));
        cases.push(
            zero_gamma
                .clone()
                .gamma_fill(Fill::given(vec![0.0, 1.0, 1.0, 1.0])),
        );
        cases.push(zero_gamma.clone().gamma_fill(Fill::Zeros));
        if kind != F16 {
            cases.push(zero_gamma.gamma_fill(Fill::Constant(1e-30)));
        }
        let one = Fill::given(vec![1.0, 0.0, 0.0, 0.0]);
        cases.push(
            Case::new("x_is_dy", kind, &[4])
                .epsilon(1e-4)
                .fill(one.clone())
                .dy_fill(one),
        );
        let tail = Case::new("tail_has_no_correction", kind, &[1, 4])
            .epsilon(1e-6)
            .affine(AffineForm::Scale);
        let tail = tail
            .gamma_fill(Fill::Ramp)
            .fill(Fill::given(vec![3.0, 4.0, 5.0, 6.0]))
            .partial(Some(0.5));
        cases.push(tail.dy_fill(Fill::given(vec![1.0, -1.0, 2.0, 1.0])));
        cases.push(
            Case::new("tail_has_no_correction", kind, &[3, 33])
                .partial(Some(0.5))
                .affine(AffineForm::ScaleShift),
        );
        for shape in [[5, 7], [3, 33], [2, 1025], [1100, 16]] {
            let case = Case::new("gamma_is_not_one", kind, &shape)
                .affine(AffineForm::Scale)
                .epsilon(1e-6);
            cases.push(case.parameter_kinds(if kind == F64 { F64 } else { F32 }, F32));
        }
    }
    for (kind, rows, row_len) in [(BF16, 32_768, 8), (F16, 4096, 64)] {
        let case = Case::new("dgamma_stalls", kind, &[rows, row_len])
            .epsilon(1e-6)
            .affine(AffineForm::ScaleShift);
        cases.push(case.fill(Fill::Constant(1.0)).dy_fill(Fill::Constant(1.0)));
    }
    cases
}

/// Shapes at which branches, reductions or indices went wrong.
pub(super) fn shapes() -> Vec<Case> {
    let mut cases = vec![];
    for (rows, row_len) in [
        (1, 640),
        (8, 768),
        (17, 896),
        (32, 640),
        (8, 2560),
        (17, 3584),
        (1, 5120),
        (8, 7168),
    ] {
        for kind in [F32, F16] {
            cases.push(
                Case::new("not_a_power_of_two", kind, &[rows, row_len]).affine(AffineForm::Scale),
            );
        }
    }
    for row_len in [767, 769] {
        let case = Case::new("store_past_the_row", F16, &[7, row_len])
            .epsilon(1e-6)
            .affine(AffineForm::Scale);
        cases.push(case.clone());
        let narrowed = Layout::NarrowedLast;
        cases.push(case.layouts(narrowed, narrowed, GammaLayout::Dense));
    }
    for (kind, rows, row_len) in [
        (F32, 65_537, 16),
        (BF16, 65_535, 16),
        (F32, 100_000, 8),
        (F16, 65_537, 5),
    ] {
        cases.push(
            Case::new("many_rows", kind, &[rows, row_len])
                .affine(AffineForm::Scale)
                .parameter_kinds(F32, F32),
        );
    }
    cases.push(
        Case::new("rows_of_cubes_mix", F32, &[256, 1024])
            .fill(Fill::RowScaled)
            .affine(AffineForm::Scale),
    );
    // The last cube, or the last plane of it, has fewer rows than the others.
    for rows in [5, 9, 31] {
        let case = Case::new("partly_idle", F32, &[rows, 200]).affine(AffineForm::ScaleShift);
        cases.push(case.fill(Fill::ScaledP(ODD)));
    }
    // As many rows as columns: a sum over the wrong axis has the right length.
    cases.push(Case::new("square", F32, &[8, 8]).affine(AffineForm::ScaleShift));
    cases.push(
        Case::new("ramp", F32, &[3, 5])
            .fill(Fill::Ramp)
            .epsilon(1e-8)
            .dy_fill(Fill::Constant(1.0)),
    );
    cases.push(
        Case::new("ramp", F32, &[2, 16_384])
            .fill(Fill::Ramp)
            .dy_fill(Fill::Constant(1.0))
            .affine(AffineForm::Scale),
    );
    cases
}
