//! What rows side by side share with all others: what is wanted is returned, what does not fit is refused,
//! and threads do not change a bit.

mod common;

use common::{ALL, Shape, values};
use fused_norm_kernels::cpu::{self, Affine, Gradients, Interleaved, Wanted};
use fused_norm_kernels::{Error, Problem};
use fused_norm_testkit::patterns;

#[test]
fn only_what_is_wanted_is_returned() {
    let shape = Shape {
        outer: 2,
        row_len: 9,
        inner: 40,
    };
    let problem = shape.problem(5);
    let x: Vec<f32> = values(shape.elements(), patterns::p);
    let dy: Vec<f32> = values(shape.elements(), patterns::q);
    let gamma: Vec<f32> = values(9, patterns::g);
    let affine = Affine::Scale { gamma: &gamma };
    let (x, dy) = (shape.dense(&x), shape.dense(&dy));
    let forward = cpu::interleaved_forward(&problem, x, affine, true).unwrap();
    let rstd = forward.rstd.unwrap();
    let run =
        |wanted| cpu::interleaved_backward(&problem, dy, x, &rstd, Some(&gamma), wanted).unwrap();
    let all = run(ALL);
    for bits in 0..8 {
        let [dx, dgamma, dbeta] = [bits & 1 > 0, bits & 2 > 0, bits & 4 > 0];
        let some = run(Wanted { dx, dgamma, dbeta });
        assert_eq!(some.dx, all.dx.clone().filter(|_| dx));
        assert_eq!(some.dgamma, all.dgamma.clone().filter(|_| dgamma));
        assert_eq!(some.dbeta, all.dbeta.clone().filter(|_| dbeta));
    }
}

/// y, dx, dgamma and dbeta on so many threads.
fn on_threads(threads: usize, shape: Shape) -> (Vec<f32>, Gradients<f32>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build().unwrap().install(|| {
        let problem = shape.problem(shape.row_len);
        let x: Vec<f32> = values(shape.elements(), patterns::p);
        let dy: Vec<f32> = values(shape.elements(), patterns::q);
        let gamma: Vec<f32> = values(shape.row_len, patterns::g);
        let affine = Affine::Scale { gamma: &gamma };
        let (x, dy) = (shape.dense(&x), shape.dense(&dy));
        let forward = cpu::interleaved_forward(&problem, x, affine, true).unwrap();
        let rstd = forward.rstd.unwrap();
        let gradients = cpu::interleaved_backward(&problem, dy, x, &rstd, Some(&gamma), ALL);
        (forward.y, gradients.unwrap())
    })
}

#[test]
fn threads_do_not_change_a_bit() {
    for (outer, row_len, inner) in [(1, 64, 5000), (9, 300, 100), (3000, 70, 3), (2, 5000, 33)] {
        let shape = Shape {
            outer,
            row_len,
            inner,
        };
        let one = on_threads(1, shape);
        for threads in [2, 3, 8] {
            assert!(
                one == on_threads(threads, shape),
                "{outer} {row_len} {inner} on {threads}"
            );
        }
    }
}

#[test]
fn rows_side_by_side_say_how_many_they_are() {
    let data = [0.0_f32; 24];
    assert_eq!(Interleaved::new(&data, 3, 12).inner(), 3);
}

#[test]
fn no_rows_give_no_values_and_zero_sums() {
    for inner in [0, 3] {
        let problem = Problem::new(0, 3, 3, 1e-5).unwrap();
        let none = Interleaved::<f32>::new(&[], inner, 0);
        let y = cpu::interleaved_forward(&problem, none, Affine::None, true).unwrap();
        assert_eq!((y.y, y.rstd), (vec![], Some(vec![])));
        let gamma = Some(&[1.0; 3][..]);
        let found = cpu::interleaved_backward(&problem, none, none, &[], gamma, ALL).unwrap();
        assert_eq!(found.dx, Some(vec![]));
        assert_eq!(found.dgamma, Some(vec![0.0; 3]));
        assert_eq!(found.dbeta, Some(vec![0.0; 3]));
    }
}

#[test]
fn buffers_that_do_not_fit_are_refused_by_name() {
    let problem = Problem::new(4, 3, 3, 1e-5).unwrap();
    let length = |buffer, expected, found| {
        Some(Error::Length {
            buffer,
            expected,
            found,
        })
    };
    let data = [0.0_f32; 20];
    let rows = Interleaved::new(&data, 2, 6);
    let short = Interleaved::new(&data[..11], 2, 6);
    let long_pitch = Interleaved::new(&data, 2, 15);
    let forward = |x, affine| cpu::interleaved_forward(&problem, x, affine, true).err();
    assert_eq!(forward(short, Affine::None), length("x", 12, 11));
    assert_eq!(forward(long_pitch, Affine::None), length("x", 21, 20));
    let gamma = Affine::Scale { gamma: &data[..2] };
    assert_eq!(forward(rows, gamma), length("gamma", 3, 2));
    for inner in [0, 3] {
        let uneven = Interleaved::new(&data, inner, 9);
        assert_eq!(
            forward(uneven, Affine::None),
            Some(Error::Inner { inner, rows: 4 })
        );
    }
    let several = problem.with_gamma_rows(2).unwrap();
    let refused = cpu::interleaved_forward(&several, rows, Affine::None, true).err();
    assert_eq!(refused, Some(Error::GammaRowsSideBySide { gamma_rows: 2 }));

    let gamma = Some(&data[..3]);
    let backward =
        |dy, x, rstd, gamma| cpu::interleaved_backward(&problem, dy, x, rstd, gamma, ALL).err();
    assert_eq!(
        backward(short, rows, &data[..4], gamma),
        length("dy", 12, 11)
    );
    assert_eq!(
        backward(rows, short, &data[..4], gamma),
        length("x", 12, 11)
    );
    assert_eq!(
        backward(rows, rows, &data[..3], gamma),
        length("rstd", 4, 3)
    );
    assert_eq!(
        backward(rows, rows, &data[..4], Some(&data[..4])),
        length("gamma", 3, 4)
    );
    let missing = Some(Error::MissingParameter("gamma"));
    assert_eq!(backward(rows, rows, &data[..4], None), missing);
    // As many elements as it needs, too few, and no whole groups.
    for (inner, pitch) in [(4, 12), (1, 6), (3, 9)] {
        let other = Interleaved::new(&data, inner, pitch);
        assert_eq!(
            backward(other, rows, &data[..4], gamma),
            length("the inner axis of dy", 2, inner)
        );
    }
}
