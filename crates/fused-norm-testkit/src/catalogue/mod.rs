//! Which cases are judged?
//!
//! A base grid over every length and number of rows, then variations of one or two things at a
//! time, then values on which other implementations went wrong. The whole has a budget, checked by
//! a test: large tensors are few.

mod axes;
mod conventions;
mod far;
mod gates;
mod grid;
mod hard;
mod layouts;
mod residuals;

use crate::case::{AffineForm, Case};
use crate::kind::FloatKind;

/// A factor that makes pattern values inexact, so that sums depend on their order.
const ODD: f64 = 0.7310585786300049;

/// Every case, in a fixed order. Names are unique.
pub fn catalogue() -> Vec<Case> {
    let groups = [
        grid::ranks(),
        grid::lengths(),
        grid::long(),
        grid::rows(),
        grid::partials(),
        grid::kinds(),
        grid::epsilons(),
        layouts::layouts(),
        layouts::gamma_layouts(),
        hard::statistics(),
        far::far_values(),
        hard::gradients(),
        hard::shapes(),
        residuals::residuals(),
        gates::gates(),
        conventions::zero_centered(),
        conventions::before_gamma(),
        conventions::gamma_rows(),
        axes::axes(),
    ];
    groups.into_iter().flatten().map(Case::named).collect()
}

/// The cases that the environment variable `NORM_FILTER` selects: the one of exactly this name, or
/// else those whose name contains it. Without the variable, every case.
///
/// # Panics
///
/// Panics when the filter matches nothing.
pub fn selected() -> Vec<Case> {
    match std::env::var("NORM_FILTER") {
        Ok(filter) => matching(&filter),
        Err(_) => catalogue(),
    }
}

fn matching(filter: &str) -> Vec<Case> {
    let mut cases = catalogue();
    if let Some(exact) = cases.iter().position(|case| case.name == filter) {
        return vec![cases.swap_remove(exact)];
    }
    cases.retain(|case| case.name.contains(filter));
    assert!(
        !cases.is_empty(),
        "NORM_FILTER={filter} matches no case of the catalogue"
    );
    cases
}

/// The `index`-th affine form, round and round.
fn affine(index: usize) -> AffineForm {
    AffineForm::ALL[index % 3]
}

/// The `index`-th kind, round and round.
fn kind(index: usize) -> FloatKind {
    FloatKind::ALL[index % 4]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::case::{Fill, GammaForm, GammaLayout, Layout, Variant};

    #[test]
    fn names_are_unique_and_without_spaces() {
        let mut seen = HashSet::new();
        for case in catalogue() {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            assert!(case.name.chars().all(plain), "{:?}", case.name);
            assert!(seen.insert(case.name.clone()), "twice: {}", case.name);
        }
    }

    #[test]
    fn a_filter_selects_one_name_or_every_name_that_contains_it() {
        let all = catalogue();
        let contained = |text: &str| all.iter().filter(|case| case.name.contains(text)).count();
        let part = all.iter().find(|case| contained(&case.name) > 1);
        let part = &part.expect("a name that is part of another").name;
        assert_eq!(matching(part).len(), 1);
        assert_eq!(matching("bf16").len(), contained("bf16"));
    }

    #[test]
    #[should_panic(expected = "NORM_FILTER=no-such-case matches no case")]
    fn a_filter_that_matches_nothing_is_refused() {
        matching("no-such-case");
    }

    #[test]
    fn the_whole_is_within_its_budget() {
        let cases = catalogue();
        let elements: usize = cases.iter().map(Case::elements).sum();
        println!("{} cases, {elements} elements", cases.len());
        assert!((900..=1050).contains(&cases.len()), "{} cases", cases.len());
        assert!(elements < 14_000_000, "{elements} elements");
        for kind in FloatKind::ALL {
            let of_kind = cases.iter().filter(|case| case.x_kind == kind);
            let (count, elements) =
                of_kind.fold((0, 0), |(n, sum), case| (n + 1, sum + case.elements()));
            println!("{kind}: {count} cases, {elements} elements");
            assert!(count >= 80, "{kind} has {count} cases");
        }
    }

    #[test]
    fn everything_that_can_vary_varies() {
        let cases = catalogue();
        let some = |what: &str, test: &dyn Fn(&Case) -> bool| {
            assert!(cases.iter().any(test), "no case has {what}")
        };
        for rank in 1..=8 {
            some(&format!("rank {rank}"), &|case| case.shape.len() == rank);
        }
        for rows in [0, 1, 2, 3, 7, 31, 33, 100, 1100, 4099] {
            some(&format!("{rows} rows"), &|case| case.rows() == rows);
        }
        let around = [16, 32, 64, 128, 256, 768, 1024]
            .into_iter()
            .flat_map(|n| n - 1..=n + 1);
        let lengths = [
            1, 2, 3, 5, 7, 8, 640, 1000, 2560, 3584, 4096, 5120, 7168, 8192,
        ];
        for row_len in around
            .chain(lengths)
            .chain([65536, 65537, 100_003, 131_072, 131_073])
        {
            some(&format!("rows of {row_len}"), &|case| {
                case.row_len() == row_len
            });
        }
        for x in FloatKind::ALL {
            for parameter in FloatKind::ALL {
                some("these kinds", &|case| {
                    case.affine.has_gamma() && (case.x_kind, case.gamma_kind) == (x, parameter)
                });
                some("these kinds", &|case| {
                    case.affine.has_beta() && (case.x_kind, case.beta_kind) == (x, parameter)
                });
            }
            for form in AffineForm::ALL {
                some("this form", &|case| (case.x_kind, case.affine) == (x, form));
            }
            some("a partial statistic", &|case| {
                case.x_kind == x && case.stat_len() < case.row_len()
            });
        }
        for layout in layouts::ALL
            .into_iter()
            .chain([Layout::Dense, Layout::Unfolded { step: 1 }])
        {
            some(&layout.name(), &|case| case.x_layout == layout);
        }
        for layout in layouts::GAMMA.into_iter().chain([GammaLayout::Dense]) {
            some(layout.name(), &|case| case.gamma_layout == layout);
        }
    }

    #[test]
    fn every_variant_meets_every_kind_and_convention() {
        let cases = catalogue();
        let mut missing = vec![];
        let mut some = |what: String, test: &dyn Fn(&Case) -> bool| {
            if !cases.iter().any(test) {
                missing.push(what);
            }
        };
        for variant in Variant::ALL {
            let name = variant.name();
            for kind in FloatKind::ALL {
                let these = |case: &Case| (case.variant, case.x_kind) == (variant, kind);
                for form in AffineForm::ALL {
                    some(format!("{name} {kind} {form:?}"), &|case| {
                        these(case) && case.affine == form
                    });
                }
                some(format!("{name} {kind} partial"), &|case| {
                    these(case) && case.stat_len() < case.row_len()
                });
                some(format!("{name} {kind} long"), &|case| {
                    these(case) && case.row_len() > 4000
                });
                some(format!("{name} {kind} zero rows"), &|case| {
                    these(case) && case.fill == Fill::ZeroRows
                });
                some(format!("{name} {kind} zero_centered"), &|case| {
                    these(case) && case.zero_centered
                });
            }
            some(format!("{name} without rows"), &|case| {
                case.variant == variant && case.elements() == 0
            });
            some(format!("{name} on several threads"), &|case| {
                case.variant == variant && case.elements() > 131_072
            });
            some(format!("{name} of rows of one"), &|case| {
                case.variant == variant && case.row_len() == 1 && case.rows() > 1
            });
            some(format!("{name} with p = 1"), &|case| {
                case.variant == variant && case.partial == Some(1.0)
            });
            some(format!("{name} along another axis"), &|case| {
                case.variant == variant && case.axis > 0
            });
            for rank in 1..=5 {
                some(format!("{name} of rank {rank}"), &|case| {
                    case.variant == variant && case.shape.len() == rank
                });
            }
            for layout in layouts::ALL.into_iter().filter(|_| variant.has_second()) {
                some(format!("{name} with {}", layout.name()), &|case| {
                    case.variant == variant && case.second_layout == layout
                });
            }
        }
        for kind in FloatKind::ALL {
            for axis in 1..=3 {
                some(format!("{kind} along axis {axis}"), &|case| {
                    case.x_kind == kind && case.axis == axis
                });
            }
            let form = |case: &Case, groups: bool| match case.gamma_form {
                GammaForm::Groups(_) => groups,
                GammaForm::Heads => !groups,
                GammaForm::Row => false,
            };
            for groups in [true, false] {
                some(format!("{kind} with gamma in rows"), &|case| {
                    case.x_kind == kind && form(case, groups) && case.affine.has_beta()
                });
                some(format!("{kind} with gamma in rows, partial"), &|case| {
                    case.x_kind == kind && form(case, groups) && case.partial.is_some()
                });
            }
            some(format!("{kind} rounded before gamma"), &|case| {
                case.x_kind == kind && case.rounds_before_gamma() && case.affine.has_beta()
            });
        }
        assert!(missing.is_empty(), "no case is {missing:#?}");
    }

    /// NaN would match NaN.
    #[test]
    fn every_exact_result_is_finite() {
        for case in catalogue().iter().filter(|case| case.elements() <= 10_000) {
            let (forward, backward) = (case.forward(), case.backward());
            let all = [&forward.y, &backward.dx, &backward.dgamma, &backward.dbeta];
            for exact in all.into_iter().chain(&forward.sum).chain(&backward.dsecond) {
                let values = exact.values.iter().chain(&exact.magnitudes);
                assert!(values.into_iter().all(|v| v.is_finite()), "{}", case.name);
            }
        }
    }
}
