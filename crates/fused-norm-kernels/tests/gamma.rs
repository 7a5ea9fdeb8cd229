//! gamma that repeats, is centred at zero, or follows a rounding, against the definition in f64.

mod common;

use common::{
    ALL, Data, Kind, Reference, affines, assert_near, assert_sums, bits, gate_value, problems,
    values, wide,
};
use fused_norm_kernels::cpu::{self, Affine, Element, Rows, Wanted};
use fused_norm_kernels::{Problem, Rounding};
use fused_norm_testkit::patterns;
use half::bf16;

fn plain_is_right<T: Kind>() {
    for problem in problems() {
        let data = Data::<T>::new(&problem, gate_value);
        let n = problem.row_len();
        let (x, dy) = (Rows::dense(&data.x, n), Rows::dense(&data.dy, n));
        for affine in affines(&data.gamma, &data.beta) {
            let reference = Reference::new(problem, &data.x, affine);
            let (y, rstd) = cpu::forward_with_rstd(&problem, x, affine).unwrap();
            assert_near("y", &y, &reference.y());
            let mut overwritten = data.x.clone();
            cpu::forward_in_place(&problem, &mut overwritten, affine).unwrap();
            assert_eq!(bits(&y), bits(&overwritten));

            let wanted = Wanted {
                dgamma: affine.gamma().is_some(),
                ..ALL
            };
            let gamma = affine.gamma();
            let found = cpu::backward(&problem, dy, x, &rstd, gamma, wanted).unwrap();
            let exact = reference.gradients(&wide(&data.dy));
            let mut dx = data.dy.clone();
            let over = cpu::backward_in_place(&problem, &mut dx, x, &rstd, gamma, wanted).unwrap();
            assert_eq!(bits(found.dx.as_ref().unwrap()), bits(&dx));
            assert_near("dx", &dx, &exact.dx);
            assert_sums::<T>(
                "dbeta",
                &found.dbeta.clone().unwrap(),
                &exact.dbeta,
                problem.rows(),
            );
            assert_eq!((&found.dgamma, &found.dbeta), (&over.dgamma, &over.dbeta));
            if let Some(dgamma) = found.dgamma {
                assert_sums::<T>("dgamma", &dgamma, &exact.dgamma, problem.rows());
            }
        }
    }
}

#[test]
fn gamma_may_repeat_and_be_centred_at_zero() {
    for_every_type!(plain_is_right);
}

/// What the LLaMA order is, one step at a time in the type of storage.
fn rounding_is_at_every_step<T: Kind>() {
    for problem in problems() {
        let problem = problem.with_rounding(Rounding::BeforeGamma);
        let data = Data::<T>::new(&problem, gate_value);
        // Neither exact in 16 bits nor around them.
        let gamma: Vec<T::Statistic> = values(problem.gamma_len(), |i| patterns::g(i) * 0.937_123);
        let beta: Vec<T::Statistic> = values(problem.gamma_len(), |i| patterns::b(i) * 1.123_977);
        let n = problem.row_len();
        let x = Rows::dense(&data.x, n);
        let plain = cpu::forward_with_rstd(&problem, x, Affine::None).unwrap();
        let (normalised, rstd) = plain;
        let once = problem.with_rounding(Rounding::Once);
        assert_eq!(
            bits(&normalised),
            bits(&cpu::forward(&once, x, Affine::None).unwrap())
        );
        for affine in affines(&gamma, &beta) {
            let y = cpu::forward(&problem, x, affine).unwrap();
            let mut overwritten = data.x.clone();
            cpu::forward_in_place(&problem, &mut overwritten, affine).unwrap();
            assert_eq!(bits(&y), bits(&overwritten));
            for (index, y) in y.iter().enumerate() {
                let parameter = index % problem.gamma_len();
                // Products and sums in the type of computation, which f64 then holds.
                let computed = |value: f64| T::narrow(T::Statistic::from_f64(value));
                let mut expected = computed(data.x[index].to_f64() * rstd[index / n].to_f64());
                if let Some(gamma) = affine.gamma() {
                    let gamma = gamma[parameter];
                    let centred = match problem.zero_centered() {
                        true => T::Statistic::from_f64(1.0 + gamma.to_f64()),
                        false => gamma,
                    };
                    let factor = T::narrow(centred);
                    expected = computed(expected.to_f64() * factor.to_f64());
                }
                if let Some(beta) = affine.beta() {
                    let shift = T::narrow(beta[parameter]);
                    expected = computed(expected.to_f64() + shift.to_f64());
                }
                assert_eq!(y.to_f64(), expected.to_f64(), "{problem:?} [{index}]");
            }
        }
        // The gradients know nothing of it.
        let dy = Rows::dense(&data.dy, n);
        let in_steps = cpu::backward(&problem, dy, x, &rstd, Some(&gamma), ALL).unwrap();
        let once = cpu::backward(&once, dy, x, &rstd, Some(&gamma), ALL).unwrap();
        assert!(in_steps == once);
    }
}

#[test]
fn before_gamma_rounds_every_step() {
    for_every_type!(rounding_is_at_every_step);
}

/// Rows of gamma that are all the same are one row of gamma.
#[test]
fn equal_rows_of_gamma_are_one() {
    let problem = Problem::new(12, 70, 40, 1e-5).unwrap();
    let several = problem.with_gamma_rows(3).unwrap();
    let data = Data::<f32>::new(&problem, gate_value);
    let [gamma, beta] = [&data.gamma, &data.beta].map(|parameter| parameter.repeat(3));
    let (x, dy) = (Rows::dense(&data.x, 70), Rows::dense(&data.dy, 70));
    let all = Affine::ScaleShift {
        gamma: &gamma,
        beta: &beta,
    };
    let (y, rstd) = cpu::forward_with_rstd(&problem, x, data.all_affine()).unwrap();
    assert_eq!(cpu::forward(&several, x, all).unwrap(), y);
    let one = cpu::backward(&problem, dy, x, &rstd, Some(&data.gamma), ALL).unwrap();
    let each = cpu::backward(&several, dy, x, &rstd, Some(&gamma), ALL).unwrap();
    assert_eq!(each.dx, one.dx);
    let (dgamma, each) = (one.dgamma.unwrap(), each.dgamma.unwrap());
    for (column, dgamma) in dgamma.iter().enumerate() {
        let sum: f32 = each.iter().skip(column).step_by(70).sum();
        assert!((sum - dgamma).abs() < 1e-5, "{column}: {sum} {dgamma}");
    }
}

/// gamma keeps the digits that the type of x does not have, unless it follows a rounding.
#[test]
fn gamma_is_rounded_only_where_a_row_is() {
    let (rows, n) = (3, 64);
    let gamma: Vec<f32> = (0..n).map(|j| 1.0 + j as f32 / 4096.0).collect();
    let once = Problem::new(rows, n, n, 1e-5).unwrap();
    let x: Vec<bf16> = (1..=rows * n)
        .map(|i| bf16::from_f32((i % 29) as f32 - 14.0))
        .collect();
    let run = |problem: &Problem, gamma: &[f32]| {
        let affine = Affine::Scale { gamma };
        cpu::forward_with_rstd(problem, Rows::dense(&x, n), affine).unwrap()
    };
    let (y, rstd) = run(&once, &gamma);
    let expected: Vec<bf16> = x
        .iter()
        .enumerate()
        .map(|(i, x)| bf16::from_f32(x.to_f32() * rstd[i / n] * gamma[i % n]))
        .collect();
    assert_eq!(bits(&y), bits(&expected));
    let rounded: Vec<f32> = gamma
        .iter()
        .map(|gamma| bf16::from_f32(*gamma).to_f32())
        .collect();
    assert_ne!(bits(&y), bits(&run(&once, &rounded).0));
    let before = once.with_rounding(Rounding::BeforeGamma);
    assert_eq!(
        bits(&run(&before, &gamma).0),
        bits(&run(&before, &rounded).0)
    );
}

/// Several threads, whose first rows take different rows of gamma.
#[test]
fn rows_of_gamma_are_those_of_the_row_on_every_thread() {
    let (rows, n) = (1030, 130);
    let problem = Problem::new(rows, n, n, 1e-5)
        .and_then(|problem| problem.with_gamma_rows(5))
        .unwrap();
    let data = Data::<f32>::new(&problem, gate_value);
    let affine = data.all_affine();
    let reference = Reference::new(problem, &data.x, affine);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    pool.unwrap().install(|| {
        let y = cpu::forward(&problem, Rows::dense(&data.x, n), affine).unwrap();
        assert_near("y", &y, &reference.y());
        let mut overwritten = data.x.clone();
        cpu::forward_in_place(&problem, &mut overwritten, affine).unwrap();
        assert_eq!(bits(&y), bits(&overwritten));
    });
}
