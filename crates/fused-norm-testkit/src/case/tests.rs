use super::*;
use crate::catalogue::catalogue;
use crate::patterns::p;

#[test]
fn every_view_shows_the_logical_values() {
    for case in catalogue() {
        if case.elements() > 20_000 {
            continue;
        }
        assert_eq!(
            case.base_x().apply(),
            (case.shape.clone(), case.x()),
            "x of {}",
            case.name
        );
        assert_eq!(
            case.base_dy().apply(),
            (case.shape.clone(), case.dy()),
            "dy of {}",
            case.name
        );
        for (base, values) in [
            (case.base_second(), case.second()),
            (case.base_dsum(), case.dsum()),
        ] {
            let shown = base.map(|base| base.apply());
            let logical = values.map(|values| (case.shape.clone(), values));
            assert_eq!(shown, logical, "second operand or dsum of {}", case.name);
        }
        for (base, values) in [
            (case.base_gamma(), case.gamma()),
            (case.base_beta(), case.beta()),
        ] {
            let shown = base.map(|base| base.apply());
            assert_eq!(
                shown,
                values.map(|values| (case.gamma_shape(), values)),
                "{}",
                case.name
            );
        }
    }
}

#[test]
fn a_transposed_base_holds_the_transposed_values() {
    let case = Case::new("t", FloatKind::F32, &[2, 3]).layouts(
        Layout::Transposed,
        Layout::Dense,
        GammaLayout::Dense,
    );
    let base = case.base_x();
    assert_eq!(case.x(), [0, 1, 2, 3, 4, 5].map(p));
    assert_eq!(
        (base.shape, base.values),
        (vec![3, 2], [0, 3, 1, 4, 2, 5].map(p).to_vec())
    );
    assert_eq!(base.steps, [ViewStep::SwapDims(0, 1)]);
}

#[test]
fn overlapping_windows_share_the_values_of_the_base() {
    let layout = Layout::Unfolded { step: 1 };
    let case = Case::new("w", FloatKind::F32, &[1, 9, 4])
        .fill(Fill::Ramp)
        .layouts(layout, Layout::Dense, GammaLayout::Dense);
    let base = case.base_x();
    assert_eq!((base.shape, base.values.len()), (vec![1, 12], 12));
    assert_eq!(case.x()[..8], [1.0, 2.0, 3.0, 4.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn elements_outside_the_view_are_nan() {
    let case = Case::new("n", FloatKind::F32, &[2, 2]).layouts(
        Layout::NarrowedLast,
        Layout::Step2,
        GammaLayout::Dense,
    );
    let base = case.base_x();
    assert_eq!(
        (
            base.shape,
            base.values.iter().filter(|value| value.is_nan()).count()
        ),
        (vec![2, 7], 10)
    );
    assert_eq!((base.values[3], base.values[4]), (p(0), p(1)));
    let base = case.base_dy();
    assert_eq!((base.shape, base.values[1].is_nan()), (vec![2, 4], true));
}

#[test]
fn values_are_rounded_to_their_kind() {
    let case = Case::new("r", FloatKind::BF16, &[2, 4])
        .fill(Fill::ScaledP(0.1))
        .dy_fill(Fill::ScaledQ(0.1));
    for value in case.x().into_iter().chain(case.dy()) {
        assert_eq!(FloatKind::BF16.round(value), value);
    }
}

#[test]
fn some_rows_of_a_case_hold_the_values_of_these_rows() {
    let case = Case::new("rows", FloatKind::F32, &[2, 3, 4]);
    let part = case.with_units(2..5);
    assert_eq!(part.shape, [1, 3, 4]);
    assert_eq!(part.x(), case.x()[8..20]);
    assert_eq!(part.dy(), case.dy()[8..20]);
    assert_eq!(
        Case::new("one", FloatKind::F32, &[4])
            .with_units(0..1)
            .shape,
        [4]
    );
}
