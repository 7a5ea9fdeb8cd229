//! A gate before the norm, and after it, against the definition in f64.

mod common;

use common::{
    ALL_GATED, Data, Kind, ORDERS, Reference, affines, assert_near, assert_sums, bits, gate_value,
    problems, wide,
};
use fused_norm_kernels::cpu::{self, Gate, GatedWanted, Rows};
use fused_norm_kernels::{Problem, Rounding};

fn gates_are_right<T: Kind>() {
    for problem in problems() {
        let data = Data::<T>::new(&problem, gate_value);
        let n = problem.row_len();
        let [x, gate, dy] = [&data.x, &data.second, &data.dy].map(|rows| Rows::dense(rows, n));
        for (affine, order) in affines(&data.gamma, &data.beta)
            .into_iter()
            .flat_map(|affine| ORDERS.map(|order| (affine, order)))
        {
            let gate = Gate { rows: gate, order };
            let mut reference = Reference::new(problem, &data.x, affine);
            reference.gate = Some((wide(&data.second), order));
            let found = cpu::gated_forward(&problem, x, gate, affine, true).unwrap();
            assert_near("y", &found.y, &reference.y());
            let rstd = found.rstd.unwrap();
            let inference = cpu::gated_forward(&problem, x, gate, affine, false).unwrap();
            assert_eq!(inference.rstd, None);
            assert_eq!(bits(&inference.y), bits(&found.y));
            let in_steps = problem.with_rounding(Rounding::BeforeGamma);
            let in_steps = cpu::gated_forward(&in_steps, x, gate, affine, false).unwrap();
            assert_eq!(bits(&in_steps.y), bits(&found.y));

            let wanted = GatedWanted {
                dgamma: affine.gamma().is_some(),
                dbeta: affine.beta().is_some(),
                ..ALL_GATED
            };
            let found = cpu::gated_backward(&problem, dy, x, gate, &rstd, affine, wanted).unwrap();
            let exact = reference.gradients(&wide(&data.dy));
            assert_near("dx", &found.dx.unwrap(), &exact.dx);
            assert_near("dgate", &found.dgate.unwrap(), &exact.dgate);
            if let Some(dgamma) = found.dgamma {
                assert_sums::<T>("dgamma", &dgamma, &exact.dgamma, problem.rows());
            }
            if let Some(dbeta) = found.dbeta {
                assert_sums::<T>("dbeta", &dbeta, &exact.dbeta, problem.rows());
            }
        }
    }
}

#[test]
fn gates_are_right_on_both_sides_of_the_norm() {
    for_every_type!(gates_are_right);
}

#[test]
fn only_what_is_wanted_is_returned() {
    let problem = Problem::new(6, 35, 20, 1e-5)
        .and_then(|problem| problem.with_gamma_rows(2))
        .unwrap();
    let data = Data::<f32>::new(&problem, gate_value);
    let [x, gate, dy] = [&data.x, &data.second, &data.dy].map(|rows| Rows::dense(rows, 35));
    let affine = data.all_affine();
    for order in ORDERS {
        let gate = Gate { rows: gate, order };
        let rstd = cpu::gated_forward(&problem, x, gate, affine, true)
            .unwrap()
            .rstd
            .unwrap();
        let run =
            |wanted| cpu::gated_backward(&problem, dy, x, gate, &rstd, affine, wanted).unwrap();
        let all = run(ALL_GATED);
        for bits in 0..16 {
            let [dx, dgate, dgamma, dbeta] = [1, 2, 4, 8].map(|bit| bits & bit > 0);
            let some = run(GatedWanted {
                dx,
                dgate,
                dgamma,
                dbeta,
            });
            assert_eq!(some.dx, all.dx.clone().filter(|_| dx));
            assert_eq!(some.dgate, all.dgate.clone().filter(|_| dgate));
            assert_eq!(some.dgamma, all.dgamma.clone().filter(|_| dgamma));
            assert_eq!(some.dbeta, all.dbeta.clone().filter(|_| dbeta));
        }
    }
}
