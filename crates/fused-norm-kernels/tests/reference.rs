//! The definition that the tests on slices hold the kernels against, held against central differences.

mod common;

use common::{Data, Reference};
use fused_norm_kernels::{GateOrder, Problem};
use fused_norm_testkit::patterns;

/// The derivative of the reference's loss at each of the values that `pick` finds in it.
fn differences(
    reference: &Reference,
    dy: &[f64],
    pick: impl Fn(&mut Reference) -> &mut Vec<f64>,
) -> Vec<f64> {
    let step = 1e-6;
    let count = pick(&mut reference.clone()).len();
    (0..count)
        .map(|index| {
            let at = |offset: f64| {
                let mut moved = reference.clone();
                pick(&mut moved)[index] += offset;
                moved.loss(dy)
            };
            (at(step) - at(-step)) / (2.0 * step)
        })
        .collect()
}

#[test]
fn the_reference_is_its_own_derivative() {
    for gate in [
        None,
        Some(GateOrder::AfterNorm),
        Some(GateOrder::BeforeNorm),
    ] {
        let problem = Problem::new(4, 5, 3, 1e-3)
            .and_then(|problem| problem.with_gamma_rows(2))
            .unwrap()
            .with_zero_centered(true);
        let data = Data::<f64>::new(&problem, |i| patterns::q(i) * 2.0);
        let mut reference = Reference::new(problem, &data.x, data.all_affine());
        reference.gate = gate.map(|order| (data.second.clone(), order));
        let exact = reference.gradients(&data.dy);
        let mut checks = vec![
            (
                "dx",
                exact.dx,
                differences(&reference, &data.dy, |r| &mut r.x),
            ),
            (
                "dgamma",
                exact.dgamma,
                differences(&reference, &data.dy, |r| r.gamma.as_mut().unwrap()),
            ),
            (
                "dbeta",
                exact.dbeta,
                differences(&reference, &data.dy, |r| r.beta.as_mut().unwrap()),
            ),
        ];
        if gate.is_some() {
            let found = differences(&reference, &data.dy, |r| &mut r.gate.as_mut().unwrap().0);
            checks.push(("dgate", exact.dgate, found));
        }
        for (what, exact, found) in checks {
            for (exact, found) in exact.iter().zip(found) {
                let off = (exact.value - found).abs();
                assert!(off < 1e-7, "{what} {gate:?}: {} and {found}", exact.value);
            }
        }
    }
}
