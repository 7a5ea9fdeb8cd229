//! Any problem, any buffers, any distances between rows: an error, or the right values.
#![no_main]

#[path = "buffer.rs"]
mod buffer;
#[path = "../../crates/fused-norm-kernels/tests/common/mod.rs"]
mod common;
#[path = "sizes.rs"]
mod sizes;

use arbitrary::Arbitrary;
use buffer::Buffer;
use common::{
    ALL, ALL_GATED, Exact, Kind, ORDERS, Reference, Shape, assert_near, assert_sums, bits, wide,
};
use fused_norm_kernels::cpu::{self, Affine, Gate, Interleaved, Wanted};
use fused_norm_kernels::{Error, Problem, Rounding};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    kind: u8,
    operation: u8,
    rows: u8,
    row_len: u8,
    stat_len: u8,
    epsilon: u8,
    gamma_rows: u8,
    affine: u8,
    zero_centered: bool,
    before_gamma: bool,
    in_place: bool,
    inner: u8,
    /// Elements in front of the first row, and between rows, of x, the second operand and dy.
    offsets: [u8; 3],
    gaps: [i8; 3],
    /// Elements that are missing behind the last row, or too many.
    missing: [i8; 3],
    parameters_missing: i8,
    /// Any bits, not the numbers of a layer.
    wild: bool,
    values: Vec<u8>,
    raw: Option<(usize, usize, usize, usize, f64, usize)>,
}

/// Elements of a problem that is run.
const ELEMENTS: usize = 4096;

fuzz_target!(|input: Input| {
    if let Some(raw) = input.raw {
        sizes::refused(raw, &input.values);
    }
    match input.kind % 4 {
        0 => run::<f64>(&input),
        1 => run::<f32>(&input),
        2 => run::<half::f16>(&input),
        _ => run::<half::bf16>(&input),
    }
});

fn run<T: Kind>(input: &Input) {
    let (rows, row_len) = (usize::from(input.rows), usize::from(input.row_len));
    let rows = rows.min(ELEMENTS / row_len.max(1));
    let epsilon = 10_f64.powi(-i32::from(input.epsilon % 7));
    let Ok(problem) = Problem::new(rows, row_len, usize::from(input.stat_len), epsilon) else {
        let stat_len = usize::from(input.stat_len);
        assert!(row_len == 0 || stat_len == 0 || stat_len > row_len);
        return;
    };
    let gamma_rows = match input.gamma_rows {
        gamma_rows if rows > 0 && gamma_rows < 128 => 1,
        gamma_rows => usize::from(gamma_rows % 5),
    };
    let Ok(problem) = problem.with_gamma_rows(gamma_rows) else {
        assert!(gamma_rows == 0 || !rows.is_multiple_of(gamma_rows));
        return;
    };
    let problem = problem
        .with_zero_centered(input.zero_centered)
        .with_rounding(match input.before_gamma {
            true => Rounding::BeforeGamma,
            false => Rounding::Once,
        });
    let missing = match input.parameters_missing {
        missing @ -2..=2 => isize::from(missing),
        _ => 0,
    };
    let parameter = |by: f64| -> Vec<T::Statistic> {
        let len = (problem.gamma_len() as isize - missing).max(0) as usize;
        common::values(len, |i| by + (i % 13) as f64 / 16.0)
    };
    let (gamma, beta) = (parameter(0.5), parameter(-0.25));
    let affine = match input.affine % 3 {
        0 => Affine::None,
        1 => Affine::Scale { gamma: &gamma },
        _ => Affine::ScaleShift {
            gamma: &gamma,
            beta: &beta,
        },
    };
    let parameters_fit = input.affine % 3 == 0 || gamma.len() == problem.gamma_len();
    match input.operation % 4 {
        3 => interleaved::<T>(input, &problem, affine, parameters_fit),
        operation => apart::<T>(input, &problem, affine, parameters_fit, operation),
    }
}

/// Are there right values to compare with? The reference adds in f64, one term after the other: it is no
/// judge of f64.
fn is_judged<T: Kind>(input: &Input) -> bool {
    !input.wild && !input.before_gamma && size_of::<T>() < 8
}

/// Sums of x and a residual.
fn added(sums: &[f64]) -> Vec<Exact> {
    sums.iter().map(|&sum| Exact::alone(sum)).collect()
}

fn apart<T: Kind>(
    input: &Input,
    problem: &Problem,
    affine: Affine<'_, T::Statistic>,
    parameters_fit: bool,
    operation: u8,
) {
    let (rows, n) = (problem.rows(), problem.row_len());
    let [x, second, dy] = [0, 1, 2].map(|index| Buffer::<T>::new(input, index, rows, n));
    let wanted = Wanted {
        dgamma: affine.gamma().is_some(),
        ..ALL
    };
    let fit = x.fits && parameters_fit;
    let judged = is_judged::<T>(input);
    if operation == 0 {
        let found = cpu::forward_with_rstd(problem, x.rows(), affine);
        assert_eq!(found.is_ok(), fit);
        let Ok((y, rstd)) = found else { return };
        let mut dense = x.dense(rows, n);
        let reference = Reference::new::<T>(*problem, &dense, affine);
        if judged {
            assert_near("y", &y, &reference.y());
        }
        if input.in_place {
            cpu::forward_in_place(problem, &mut dense, affine).unwrap();
            assert_eq!(bits(&dense), bits(&y));
        }
        let (dy_rows, gamma) = (dy.rows(), affine.gamma());
        let found = cpu::backward(problem, dy_rows, x.rows(), &rstd, gamma, wanted);
        assert_eq!(found.is_ok(), dy.fits);
        let Ok(found) = found else { return };
        let mut dense = dy.dense(rows, n);
        if judged {
            let exact = reference.gradients(&wide(&dense));
            assert_near("dx", found.dx.as_ref().unwrap(), &exact.dx);
            assert_sums::<T>("dbeta", found.dbeta.as_ref().unwrap(), &exact.dbeta, rows);
            if let Some(dgamma) = &found.dgamma {
                assert_sums::<T>("dgamma", dgamma, &exact.dgamma, rows);
            }
        }
        if input.in_place {
            cpu::backward_in_place(problem, &mut dense, x.rows(), &rstd, gamma, wanted).unwrap();
            assert_eq!(bits(&dense), bits(&found.dx.unwrap()));
        }
    } else if operation == 1 {
        let found = cpu::add_forward(problem, x.rows(), second.rows(), affine, true);
        assert_eq!(found.is_ok(), fit && second.fits);
        if let (true, Ok(found)) = (judged, found) {
            let mut reference = Reference::new::<T>(*problem, &x.dense(rows, n), affine);
            let residual = wide(&second.dense(rows, n));
            reference
                .x
                .iter_mut()
                .zip(residual)
                .for_each(|(x, by)| *x += by);
            assert_near("y", &found.y, &reference.y());
            assert_near("sum", &found.sum, &added(&reference.x));
            let rstds = (0..rows).map(|row| reference.rstd(row));
            let rstds: Vec<Exact> = rstds.map(Exact::alone).collect();
            assert_sums::<T>("rstd", &found.rstd.unwrap(), &rstds, 0);
        }
    } else {
        let order = ORDERS[usize::from(input.in_place)];
        let gate = Gate {
            rows: second.rows(),
            order,
        };
        let found = cpu::gated_forward(problem, x.rows(), gate, affine, true);
        assert_eq!(found.is_ok(), fit && second.fits);
        let Ok(found) = found else { return };
        let mut reference = Reference::new::<T>(*problem, &x.dense(rows, n), affine);
        reference.gate = Some((wide(&second.dense(rows, n)), order));
        if judged {
            assert_near("y", &found.y, &reference.y());
        }
        let wanted = cpu::GatedWanted {
            dgamma: affine.gamma().is_some(),
            dbeta: affine.beta().is_some(),
            ..ALL_GATED
        };
        let rstd = found.rstd.unwrap();
        let found = cpu::gated_backward(problem, dy.rows(), x.rows(), gate, &rstd, affine, wanted);
        assert_eq!(found.is_ok(), dy.fits);
        if let (true, Ok(found)) = (judged, found) {
            let exact = reference.gradients(&wide(&dy.dense(rows, n)));
            assert_near("dx", &found.dx.unwrap(), &exact.dx);
            assert_near("dgate", &found.dgate.unwrap(), &exact.dgate);
            for (what, found, exact) in [
                ("dgamma", found.dgamma, &exact.dgamma),
                ("dbeta", found.dbeta, &exact.dbeta),
            ] {
                if let Some(found) = found {
                    assert_sums::<T>(what, &found, exact, rows);
                }
            }
        }
    }
}

fn interleaved<T: Kind>(
    input: &Input,
    problem: &Problem,
    affine: Affine<'_, T::Statistic>,
    parameters_fit: bool,
) {
    let inner = usize::from(input.inner);
    let (rows, n) = (problem.rows(), problem.row_len());
    let groups = rows.checked_div(inner).unwrap_or(0);
    let [x, dy] = [0, 2].map(|index| Buffer::<T>::new(input, index, groups, inner * n));
    let side_by_side = |buffer: &Buffer<T>| {
        // Borrowed for as long as the buffers are.
        (buffer.offset, buffer.pitch)
    };
    let (x_at, dy_at) = (side_by_side(&x), side_by_side(&dy));
    let x_rows = Interleaved::new(&x.data[x_at.0..], inner, x_at.1);
    let dy_rows = Interleaved::new(&dy.data[dy_at.0..], inner, dy_at.1);
    let found = cpu::interleaved_forward(problem, x_rows, affine, true);
    let whole = inner > 0 && rows.is_multiple_of(inner) && problem.gamma_rows() == 1;
    if inner > 0 {
        assert_eq!(
            found.is_ok(),
            x.fits && parameters_fit && whole,
            "{found:?}"
        );
    }
    let Ok(found) = found else { return };
    if inner == 0 {
        assert_eq!(rows, 0);
        return;
    }
    let judged = is_judged::<T>(input) && rows > 0;
    let shape = Shape {
        outer: groups,
        row_len: n,
        inner,
    };
    let rstd = found.rstd.unwrap();
    let reference =
        Reference::new::<T>(*problem, &shape.apart(&x.dense(groups, inner * n)), affine);
    if judged {
        assert_near("y", &shape.apart(&found.y), &reference.y());
    }
    let wanted = Wanted {
        dgamma: affine.gamma().is_some(),
        ..ALL
    };
    let gamma = affine.gamma();
    let found = cpu::interleaved_backward(problem, dy_rows, x_rows, &rstd, gamma, wanted);
    assert_eq!(found.is_ok(), dy.fits);
    match found {
        Ok(found) if judged => {
            let dy = shape.apart(&dy.dense(groups, inner * n));
            let exact = reference.gradients(&wide(&dy));
            assert_near("dx", &shape.apart(&found.dx.unwrap()), &exact.dx);
            assert_sums::<T>("dbeta", &found.dbeta.unwrap(), &exact.dbeta, rows);
            if let Some(dgamma) = found.dgamma {
                assert_sums::<T>("dgamma", &dgamma, &exact.dgamma, rows);
            }
        }
        Ok(_) => {}
        Err(error) => assert!(matches!(error, Error::Length { .. }), "{error}"),
    }
}
