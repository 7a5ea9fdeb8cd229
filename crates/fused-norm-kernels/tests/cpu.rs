//! The kernels on slices: every length of a tail, every source and destination, every refusal, and
//! bits that depend on neither threads nor batch.

use fused_norm_kernels::cpu::{self, Affine, Element, Gradients, Rows, Wanted};
use fused_norm_kernels::{Error, Problem};
use fused_norm_testkit::{FloatKind, oracle, patterns, tolerance};
use half::{bf16, f16};
use rayon::ThreadPoolBuilder;

const ALL: Wanted = Wanted {
    dx: true,
    dgamma: true,
    dbeta: true,
};

/// Rows of the patterns in one type.
struct Data<T: Element> {
    x: Vec<T>,
    dy: Vec<T>,
    gamma: Vec<T::Statistic>,
    beta: Vec<T::Statistic>,
}

impl<T: Element> Data<T> {
    fn new(rows: usize, row_len: usize) -> Self {
        let narrow = |value: f64| T::from_f64(value);
        let wide = |value: f64| T::Statistic::from_f64(value);
        Self {
            x: (0..rows * row_len)
                .map(|i| narrow(patterns::p(i)))
                .collect(),
            dy: (0..rows * row_len)
                .map(|i| narrow(patterns::q(i)))
                .collect(),
            gamma: (0..row_len).map(|j| wide(patterns::g(j))).collect(),
            beta: (0..row_len).map(|j| wide(patterns::b(j))).collect(),
        }
    }

    fn affine(&self) -> Affine<'_, T::Statistic> {
        Affine::ScaleShift {
            gamma: &self.gamma,
            beta: &self.beta,
        }
    }
}

fn bits<T: Element>(values: &[T]) -> Vec<u64> {
    values
        .iter()
        .map(|value| value.to_f64().to_bits())
        .collect()
}

fn wide<T: Element>(values: &[T]) -> Vec<f64> {
    values.iter().map(|value| value.to_f64()).collect()
}

/// Sums are in the type of computation, whatever the type of storage: hence a kind of its own.
fn assert_near<T: Element>(what: &str, kind: FloatKind, found: &[T], exact: &oracle::Exact) {
    assert_eq!(found.len(), exact.values.len(), "{what}");
    // No sum has more terms.
    let tolerance = tolerance(kind, kind.statistic(), found.len());
    for (index, value) in found.iter().enumerate() {
        let (value, exact, magnitude) =
            (value.to_f64(), exact.values[index], exact.magnitudes[index]);
        assert!(
            tolerance.accepts(value, exact, magnitude),
            "{what} [{index}]: {value}, expected {exact}"
        );
    }
}

/// Forward and backward of rows of every length up to past two blocks, with every place at which
/// the statistic can end; memory that a kernel has left unwritten would show.
fn every_tail<T: Element>(kind: FloatKind) {
    for row_len in 1..=70 {
        for stat_len in [1, row_len / 3, row_len / 2, row_len - 1, row_len] {
            let stat_len = stat_len.max(1);
            let problem = Problem::new(3, row_len, stat_len, 1e-5).unwrap();
            let data = Data::<T>::new(3, row_len);
            let exact_problem = oracle::Problem {
                row_len,
                stat_len,
                epsilon: 1e-5,
                gamma: Some(&wide(&data.gamma)),
                beta: Some(&wide(&data.beta)),
            };
            let forward = oracle::forward(&wide(&data.x), &exact_problem);
            let backward = oracle::backward(&wide(&data.x), &wide(&data.dy), &exact_problem);

            let x = Rows::dense(&data.x, row_len);
            let (y, rstd) = cpu::forward_with_rstd(&problem, x, data.affine()).unwrap();
            assert_near("y", kind, &y, &forward.y);
            let dy = Rows::dense(&data.dy, row_len);
            let gradients = cpu::backward(&problem, dy, x, &rstd, Some(&data.gamma), ALL).unwrap();
            assert_near("dx", kind, gradients.dx.as_ref().unwrap(), &backward.dx);
            let sums = kind.statistic();
            let dgamma = gradients.dgamma.as_ref().unwrap();
            assert_near("dgamma", sums, dgamma, &backward.dgamma);
            let dbeta = gradients.dbeta.as_ref().unwrap();
            assert_near("dbeta", sums, dbeta, &backward.dbeta);
        }
    }
}

#[test]
fn every_tail_of_a_row() {
    every_tail::<f64>(FloatKind::F64);
    every_tail::<f32>(FloatKind::F32);
    every_tail::<f16>(FloatKind::F16);
    every_tail::<bf16>(FloatKind::BF16);
}

/// In place, into new memory, with rstd and without, strided and dense: the same bits.
fn every_way<T: Element>() {
    for (rows, row_len) in [(1, 1), (5, 33), (40, 1000), (140, 1000), (1100, 129)] {
        let problem = Problem::new(rows, row_len, row_len.div_ceil(2), 1e-5).unwrap();
        let data = Data::<T>::new(rows, row_len);
        let x = Rows::dense(&data.x, row_len);
        let (y, rstd) = cpu::forward_with_rstd(&problem, x, data.affine()).unwrap();
        let inference = cpu::forward(&problem, x, data.affine()).unwrap();
        assert_eq!(bits(&y), bits(&inference));
        let mut overwritten = data.x.clone();
        cpu::forward_in_place(&problem, &mut overwritten, data.affine()).unwrap();
        assert_eq!(bits(&y), bits(&overwritten));

        // The same rows inside a wider matrix whose other columns are NaN.
        let pitch = row_len + 3;
        let mut wider = vec![T::from_f64(f64::NAN); rows * pitch];
        for (wider, row) in wider.chunks_mut(pitch).zip(data.x.chunks(row_len)) {
            wider[1..=row_len].copy_from_slice(row);
        }
        let strided = Rows::with_pitch(&wider[1..], pitch);
        assert_eq!(
            bits(&y),
            bits(&cpu::forward(&problem, strided, data.affine()).unwrap())
        );

        let gamma = Some(&data.gamma[..]);
        let dy = Rows::dense(&data.dy, row_len);
        let new = cpu::backward(&problem, dy, x, &rstd, gamma, ALL).unwrap();
        let mut dx = data.dy.clone();
        let in_place =
            cpu::backward_in_place(&problem, &mut dx, strided, &rstd, gamma, ALL).unwrap();
        assert_eq!(bits(new.dx.as_ref().unwrap()), bits(&dx));
        assert_eq!(new.dgamma, in_place.dgamma);
        assert_eq!(new.dbeta, in_place.dbeta);
    }
}

#[test]
fn every_way_gives_the_same_bits() {
    every_way::<f64>();
    every_way::<f32>();
    every_way::<f16>();
    every_way::<bf16>();
}

/// y, dx, dgamma and dbeta of the same rows on so many threads.
fn on_threads(threads: usize, rows: usize) -> (Vec<f32>, Gradients<f32>) {
    let row_len = 257;
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    pool.install(|| {
        let problem = Problem::new(rows, row_len, row_len, 1e-5).unwrap();
        let data = Data::<f32>::new(rows, row_len);
        let x = Rows::dense(&data.x, row_len);
        let (y, rstd) = cpu::forward_with_rstd(&problem, x, data.affine()).unwrap();
        let dy = Rows::dense(&data.dy, row_len);
        let gradients = cpu::backward(&problem, dy, x, &rstd, Some(&data.gamma), ALL).unwrap();
        (y, gradients)
    })
}

#[test]
fn threads_do_not_change_a_bit() {
    // 509 rows are one task, 511 are several.
    for rows in [1, 2, 509, 511, 4001] {
        let one = on_threads(1, rows);
        for threads in [2, 3, 8] {
            assert!(
                one == on_threads(threads, rows),
                "{rows} rows on {threads} threads"
            );
        }
    }
}

#[test]
fn rows_may_repeat_and_overlap() {
    let window = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    for (pitch, rows) in [(0, 3), (1, 3), (2, 2)] {
        let problem = Problem::new(rows, 4, 4, 1e-6).unwrap();
        let copied: Vec<f32> = (0..rows)
            .flat_map(|row| window[row * pitch..row * pitch + 4].to_vec())
            .collect();
        let strided = cpu::forward(&problem, Rows::with_pitch(&window, pitch), Affine::None);
        let dense = cpu::forward(&problem, Rows::dense(&copied, 4), Affine::None);
        assert_eq!(strided, dense, "pitch {pitch}");
    }
}

#[test]
fn only_what_is_wanted_is_returned() {
    let problem = Problem::new(2, 5, 5, 1e-5).unwrap();
    let data = Data::<f32>::new(2, 5);
    let x = Rows::dense(&data.x, 5);
    let (_, rstd) = cpu::forward_with_rstd(&problem, x, data.affine()).unwrap();
    let run = |wanted| {
        let dy = Rows::dense(&data.dy, 5);
        cpu::backward(&problem, dy, x, &rstd, Some(&data.gamma), wanted).unwrap()
    };
    let all = run(ALL);
    for bits in 0..8 {
        let [dx, dgamma, dbeta] = [bits & 1 > 0, bits & 2 > 0, bits & 4 > 0];
        let some = run(Wanted { dx, dgamma, dbeta });
        assert_eq!(some.dx, all.dx.clone().filter(|_| dx));
        assert_eq!(some.dgamma, all.dgamma.clone().filter(|_| dgamma));
        assert_eq!(some.dbeta, all.dbeta.clone().filter(|_| dbeta));
    }
}

#[test]
fn no_rows_give_no_values_and_zero_sums() {
    let problem = Problem::new(0, 3, 3, 1e-5).unwrap();
    let none = Rows::dense(&[], 3);
    let (y, rstd) = cpu::forward_with_rstd::<f32>(&problem, none, Affine::None).unwrap();
    assert_eq!((y, rstd), (vec![], vec![]));
    let gradients = cpu::backward(&problem, none, none, &[], Some(&[1.0; 3]), ALL).unwrap();
    let zeros = Some(vec![0.0; 3]);
    assert_eq!(gradients.dx, Some(vec![]));
    assert_eq!((gradients.dgamma, gradients.dbeta), (zeros.clone(), zeros));
}

#[test]
fn buffers_that_do_not_fit_are_refused_by_name() {
    let problem = Problem::new(2, 3, 3, 1e-5).unwrap();
    let length = |buffer, expected, found| {
        Some(Error::Length {
            buffer,
            expected,
            found,
        })
    };
    let x = [0.0_f32; 6];
    let short = Rows::dense(&x[..5], 3);
    assert_eq!(
        cpu::forward(&problem, short, Affine::None).err(),
        length("x", 6, 5)
    );
    let gamma = Affine::Scale { gamma: &x[..2] };
    let rows = Rows::dense(&x, 3);
    assert_eq!(
        cpu::forward(&problem, rows, gamma).err(),
        length("gamma", 3, 2)
    );
    let beta = Affine::ScaleShift {
        gamma: &x[..3],
        beta: &x[..4],
    };
    assert_eq!(
        cpu::forward(&problem, rows, beta).err(),
        length("beta", 3, 4)
    );
    let in_place = cpu::forward_in_place(&problem, &mut [0.0_f32; 7], Affine::None);
    assert_eq!(in_place.err(), length("x", 6, 7));

    let gamma = Some(&x[..3]);
    let backward = |dy, x, rstd, gamma| cpu::backward(&problem, dy, x, rstd, gamma, ALL).err();
    assert_eq!(backward(short, rows, &x[..2], gamma), length("dy", 6, 5));
    assert_eq!(backward(rows, short, &x[..2], gamma), length("x", 6, 5));
    assert_eq!(backward(rows, rows, &x[..1], gamma), length("rstd", 2, 1));
    assert_eq!(
        backward(rows, rows, &x[..2], Some(&x[..4])),
        length("gamma", 3, 4)
    );
    let missing = Some(Error::MissingParameter("gamma"));
    assert_eq!(backward(rows, rows, &x[..2], None), missing);
    let dy = &mut [0.0_f32; 5];
    let in_place = cpu::backward_in_place(&problem, dy, rows, &x[..2], gamma, ALL);
    assert_eq!(in_place.err(), length("dy", 6, 5));
}
