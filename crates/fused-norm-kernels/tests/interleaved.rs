//! Rows that lie side by side: every width of a tile, wherever the groups lie, against the definition
//! in f64 on the same rows one after the other.

mod common;

use common::{ALL, Kind, Reference, Shape, affines, assert_near, assert_sums, bits, values, wide};
use fused_norm_kernels::cpu::{self, Affine, Element, Interleaved, Rows, Wanted};
use fused_norm_kernels::{Problem, Rounding};
use fused_norm_testkit::patterns;

fn shapes() -> impl Iterator<Item = Shape> {
    let tails = [1, 2, 31, 32, 33, 64, 65, 100];
    let short = [1, 2, 5, 33]
        .into_iter()
        .flat_map(move |row_len| tails.map(|inner| (row_len, inner)));
    let long = [(70, 40), (3, 257), (2, 300), (1030, 70)];
    short.chain(long).map(|(row_len, inner)| Shape {
        outer: if row_len * inner < 1000 { 3 } else { 1 },
        row_len,
        inner,
    })
}

fn every_width<T: Kind>() {
    for shape in shapes() {
        let n = shape.row_len;
        for stat_len in [1, n.div_ceil(3), n] {
            let problem = shape.problem(stat_len).with_zero_centered(n % 2 == 0);
            let x: Vec<T> = values(shape.elements(), patterns::p);
            let dy: Vec<T> = values(shape.elements(), patterns::q);
            let gamma: Vec<T::Statistic> = values(n, patterns::g);
            let beta: Vec<T::Statistic> = values(n, patterns::b);
            for affine in affines(&gamma, &beta) {
                let reference = Reference::new(problem, &shape.apart(&x), affine);
                let found =
                    cpu::interleaved_forward(&problem, shape.dense(&x), affine, true).unwrap();
                assert_near("y", &shape.apart(&found.y), &reference.y());
                let rstd = found.rstd.unwrap();
                for (row, rstd) in rstd.iter().enumerate() {
                    let off = rstd.to_f64() / reference.rstd(row) - 1.0;
                    assert!(
                        off.abs() <= 4.0 * T::KIND.statistic().unit_roundoff(),
                        "{rstd:?}"
                    );
                }
                let inference =
                    cpu::interleaved_forward(&problem, shape.dense(&x), affine, false).unwrap();
                assert_eq!(inference.rstd, None);
                assert_eq!(bits(&inference.y), bits(&found.y));

                let wanted = Wanted {
                    dgamma: affine.gamma().is_some(),
                    ..ALL
                };
                let (dense_dy, dense_x) = (shape.dense(&dy), shape.dense(&x));
                let found = cpu::interleaved_backward(
                    &problem,
                    dense_dy,
                    dense_x,
                    &rstd,
                    affine.gamma(),
                    wanted,
                )
                .unwrap();
                let exact = reference.gradients(&wide(&shape.apart(&dy)));
                assert_near("dx", &shape.apart(&found.dx.unwrap()), &exact.dx);
                assert_sums::<T>("dbeta", &found.dbeta.unwrap(), &exact.dbeta, problem.rows());
                if let Some(dgamma) = found.dgamma {
                    assert_sums::<T>("dgamma", &dgamma, &exact.dgamma, problem.rows());
                }
            }
        }
    }
}

#[test]
fn every_width_of_a_tile() {
    for_every_type!(every_width);
}

/// Beside a row's statistic, which is summed in another order, nothing tells the two layouts apart.
fn values_are_those_of_rows<T: Kind>() {
    let shape = Shape {
        outer: 2,
        row_len: 20,
        inner: 37,
    };
    let x: Vec<T> = values(shape.elements(), patterns::p);
    let gamma: Vec<T::Statistic> = values(20, |j| patterns::g(j) * 0.937_123);
    let beta: Vec<T::Statistic> = values(20, |j| patterns::b(j) * 1.123_977);
    let apart = shape.apart(&x);
    for rounding in [Rounding::Once, Rounding::BeforeGamma] {
        let problem = shape.problem(20).with_rounding(rounding);
        for affine in affines(&gamma, &beta) {
            let found = cpu::interleaved_forward(&problem, shape.dense(&x), affine, true).unwrap();
            let rows = Rows::dense(&apart, 20);
            let (y, rstd) = cpu::forward_with_rstd(&problem, rows, affine).unwrap();
            let found_y = shape.apart(&found.y);
            let found_rstd = found.rstd.unwrap();
            let mut compared = 0;
            for row in (0..rstd.len()).filter(|&row| rstd[row] == found_rstd[row]) {
                let range = row * 20..(row + 1) * 20;
                assert_eq!(bits(&y[range.clone()]), bits(&found_y[range]));
                compared += 1;
            }
            assert!(compared > rstd.len() / 2, "{compared}");
        }
    }
}

#[test]
fn a_row_with_the_same_statistic_has_the_bits_that_it_has_elsewhere() {
    for_every_type!(values_are_those_of_rows);
}

/// Groups inside a wider buffer whose other elements are NaN.
fn pitches_do_not_matter<T: Kind>() {
    for (inner, row_len) in [(5, 7), (70, 33)] {
        let shape = Shape {
            outer: 4,
            row_len,
            inner,
        };
        let problem = shape.problem(row_len.div_ceil(2));
        let x: Vec<T> = values(shape.elements(), patterns::p);
        let dy: Vec<T> = values(shape.elements(), patterns::q);
        let gamma: Vec<T::Statistic> = values(row_len, patterns::g);
        let affine = Affine::Scale { gamma: &gamma };
        let spread = |values: &[T], pitch: usize| {
            let mut wider = vec![T::from_f64(f64::NAN); 4 * pitch];
            for (wider, group) in wider.chunks_mut(pitch).zip(values.chunks(inner * row_len)) {
                wider[..inner * row_len].copy_from_slice(group);
            }
            wider
        };
        let pitches = [inner * row_len + 1, inner * row_len + 64];
        let wider = [spread(&x, pitches[0]), spread(&dy, pitches[1])];
        let wider_x = Interleaved::new(&wider[0], inner, pitches[0]);
        let wider_dy = Interleaved::new(&wider[1], inner, pitches[1]);
        let (x, dy) = (shape.dense(&x), shape.dense(&dy));

        let dense = cpu::interleaved_forward(&problem, x, affine, true).unwrap();
        let found = cpu::interleaved_forward(&problem, wider_x, affine, true).unwrap();
        assert!(dense == found);
        let rstd = &dense.rstd.unwrap();
        let run =
            |dy, x| cpu::interleaved_backward(&problem, dy, x, rstd, Some(&gamma), ALL).unwrap();
        assert!(run(dy, x) == run(wider_dy, wider_x));
    }
}

#[test]
fn groups_may_lie_anywhere() {
    for_every_type!(pitches_do_not_matter);
}

#[test]
fn a_row_out_of_range_is_normalised_too_and_leaves_its_neighbours_alone() {
    let magnitudes = [
        1.0_f32,
        1e-30,
        1e30,
        1e-22,
        2e19,
        0.0,
        f32::INFINITY,
        f32::NAN,
    ];
    let inner = magnitudes.len();
    let problem = Problem::new(inner, 3, 3, 1e-75).unwrap();
    let x: Vec<f32> = [2.0, -4.0, 1.0]
        .into_iter()
        .flat_map(|factor: f32| magnitudes.map(|magnitude| factor * magnitude))
        .collect();
    let rows = Interleaved::new(&x, inner, 3 * inner);
    let y = cpu::interleaved_forward(&problem, rows, Affine::None, false)
        .unwrap()
        .y;
    for (i, magnitude) in magnitudes.into_iter().enumerate() {
        for (j, factor) in [2.0_f32, -4.0, 1.0].into_iter().enumerate() {
            let y = y[j * inner + i];
            if magnitude == 0.0 {
                assert_eq!(y, 0.0);
            } else if magnitude.is_finite() {
                let expected = factor / 7.0_f32.sqrt();
                assert!((y - expected).abs() < 1e-6, "{magnitude:e}: {y}");
            } else {
                assert!(y.is_nan(), "{magnitude}: {y}");
            }
        }
    }
}

/// Every group by itself: the same bits, also where all together are written past the caches.
#[test]
fn a_group_does_not_depend_on_the_others() {
    for (outer, row_len, inner) in [(70, 33, 4096), (70, 33, 4100)] {
        let shape = Shape {
            outer,
            row_len,
            inner,
        };
        let problem = shape.problem(row_len);
        let group = row_len * inner;
        let x: Vec<f32> = values(shape.elements(), patterns::p);
        let gamma: Vec<f32> = values(row_len, patterns::g);
        let affine = Affine::Scale { gamma: &gamma };
        let all = cpu::interleaved_forward(&problem, shape.dense(&x), affine, true).unwrap();
        let rstd = all.rstd.unwrap();
        let dx = |problem: &Problem, dy: &[f32], x: &[f32], rstd: &[f32]| {
            let (dy, x) = (shape.dense(dy), shape.dense(x));
            let wanted = Wanted {
                dgamma: false,
                dbeta: false,
                ..ALL
            };
            cpu::interleaved_backward(problem, dy, x, rstd, Some(&gamma), wanted)
                .unwrap()
                .dx
        };
        let all_dx = dx(&problem, &all.y, &x, &rstd).unwrap();
        let alone = Problem::new(inner, row_len, row_len, 1e-5).unwrap();
        for first in [0, outer / 2, outer - 1] {
            let range = first * group..(first + 1) * group;
            let rows = shape.dense(&x[range.clone()]);
            let one = cpu::interleaved_forward(&alone, rows, affine, true).unwrap();
            assert!(one.y == all.y[range.clone()], "y of group {first}");
            let rstd = one.rstd.unwrap();
            let one_dx = dx(&alone, &one.y, &x[range.clone()], &rstd).unwrap();
            assert!(one_dx == all_dx[range], "dx of group {first}");
        }
    }
}
