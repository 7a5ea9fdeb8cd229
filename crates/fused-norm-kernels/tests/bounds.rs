//! Nothing outside a row is read or written, whatever its length, its type and where it starts.
//!
//! Every buffer here ends with its last element, so that an instrumented build
//! (`.ci/address-sanitizer.sh`) sees a step beyond it. What lies between rows is NaN, which a result
//! would show, and what lies around memory that is overwritten has to keep its bits.

mod common;

use common::{ALL, ALL_GATED, Data, Kind, ORDERS, bits, gate_value, values};
use fused_norm_kernels::cpu::{self, Affine, Element, Gate, Interleaved, Rows};
use fused_norm_kernels::{Error, Problem};
use fused_norm_testkit::patterns;

const ROWS: usize = 3;

/// Two blocks and a bit, and lengths around spans of blocks.
fn row_lens() -> impl Iterator<Item = usize> {
    (1..=66).chain([95, 96, 97, 1023, 1024, 1025, 1057])
}

fn stat_lens(row_len: usize) -> Vec<usize> {
    match row_len {
        ..=66 => (1..=row_len).collect(),
        _ => vec![1, 31, 32, 33, row_len - 1, row_len],
    }
}

fn problems() -> impl Iterator<Item = Problem> {
    row_lens().flat_map(|row_len| {
        let problem = move |stat_len| Problem::new(ROWS, row_len, stat_len, 1e-5).unwrap();
        stat_lens(row_len).into_iter().map(problem)
    })
}

/// Rows inside a buffer: so far from its start, and so far apart.
struct Spread<T> {
    buffer: Vec<T>,
    offset: usize,
    pitch: usize,
}

impl<T: Element> Spread<T> {
    /// Groups of `len` neighbours; NaN in front of the first and between them, nothing behind the last.
    fn new(groups: &[T], len: usize, offset: usize, gap: usize) -> Self {
        let pitch = len + gap;
        let count = groups.len() / len;
        let mut buffer = vec![T::from_f64(f64::NAN); offset + (count - 1) * pitch + len];
        for (index, group) in groups.chunks(len).enumerate() {
            let start = offset + index * pitch;
            buffer[start..start + len].copy_from_slice(group);
        }
        buffer.shrink_to_fit();
        Self {
            buffer,
            offset,
            pitch,
        }
    }

    fn rows(&self) -> Rows<'_, T> {
        Rows::with_pitch(&self.buffer[self.offset..], self.pitch)
    }
}

/// A slice of a larger buffer, and what is around it.
struct Guarded<T> {
    buffer: Vec<T>,
    offset: usize,
    len: usize,
}

const GUARD: usize = 40; // More than a block, on either side.

impl<T: Element> Guarded<T> {
    fn new(values: &[T], offset: usize) -> Self {
        let around = |i: usize| T::from_f64(patterns::r(i) + 7.0);
        let mut buffer: Vec<T> = (0..values.len() + 2 * GUARD + offset).map(around).collect();
        let offset = GUARD + offset;
        buffer[offset..offset + values.len()].copy_from_slice(values);
        Self {
            buffer,
            offset,
            len: values.len(),
        }
    }

    fn inside(&mut self) -> &mut [T] {
        &mut self.buffer[self.offset..self.offset + self.len]
    }

    fn assert_holds(&self, what: &str, expected: &[T]) {
        let found = bits(&self.buffer[self.offset..self.offset + self.len]);
        assert_eq!(found, bits(expected), "{what}");
        let untouched = Self::new(expected, self.offset - GUARD);
        assert_eq!(
            bits(&self.buffer),
            bits(&untouched.buffer),
            "{what}: around it"
        );
    }
}

/// A different odd place for each problem.
fn place(problem: &Problem) -> usize {
    2 * ((7 * problem.row_len() + problem.stat_len()) % 4) + 1
}

fn overwriting<T: Kind>() {
    for problem in problems() {
        let (n, k) = (problem.row_len(), problem.stat_len());
        let what = format!("rows of {n}, statistic of {k}");
        let data = Data::<T>::new(&problem, patterns::r);
        let x = Rows::dense(&data.x, n);
        let affine = data.all_affine();
        let (y, rstd) = cpu::forward_with_rstd(&problem, x, affine).unwrap();
        assert_eq!((y.len(), rstd.len()), (ROWS * n, ROWS), "{what}");
        let mut guarded = Guarded::new(&data.x, place(&problem));
        cpu::forward_in_place(&problem, guarded.inside(), affine).unwrap();
        guarded.assert_holds(&format!("y of {what}"), &y);

        let dy = Rows::dense(&data.dy, n);
        let gamma = Some(&data.gamma[..]);
        let expected = cpu::backward(&problem, dy, x, &rstd, gamma, ALL).unwrap();
        let mut guarded = Guarded::new(&data.dy, place(&problem));
        let found =
            cpu::backward_in_place(&problem, guarded.inside(), x, &rstd, gamma, ALL).unwrap();
        guarded.assert_holds(&format!("dx of {what}"), &expected.dx.unwrap());
        assert_eq!((found.dx, found.dgamma), (None, expected.dgamma), "{what}");
        assert_eq!(found.dbeta, expected.dbeta, "{what}");
    }
}

#[test]
fn rows_are_overwritten_and_nothing_around_them() {
    for_every_type!(overwriting);
}

fn reading<T: Kind>() {
    for problem in problems() {
        let (n, place) = (problem.row_len(), place(&problem));
        let what = format!("rows of {n}, statistic of {}", problem.stat_len());
        let data = Data::<T>::new(&problem, gate_value);
        let affine = data.all_affine();
        let gamma = Some(&data.gamma[..]);
        let dense = [&data.x, &data.second, &data.dy];
        let apart = [
            Spread::new(&data.x, n, place, 1),
            Spread::new(&data.second, n, place + 2, 2 * place),
            Spread::new(&data.dy, n, place + 1, 3),
        ];
        let [x, second, dy] = dense.map(|rows| Rows::dense(rows, n));
        let [far_x, far_second, far_dy] = [&apart[0], &apart[1], &apart[2]].map(Spread::rows);

        let (y, rstd) = cpu::forward_with_rstd(&problem, x, affine).unwrap();
        let found = cpu::forward_with_rstd(&problem, far_x, affine).unwrap();
        assert!(found == (y, rstd.clone()), "forward, {what}");
        let backward = |dy, x| cpu::backward(&problem, dy, x, &rstd, gamma, ALL).unwrap();
        assert!(
            backward(far_dy, far_x) == backward(dy, x),
            "backward, {what}"
        );

        let add = |x, by| cpu::add_forward(&problem, x, by, affine, true).unwrap();
        assert!(add(far_x, far_second) == add(x, second), "add, {what}");

        for order in ORDERS {
            let gate = Gate {
                rows: second,
                order,
            };
            let far = Gate {
                rows: far_second,
                order,
            };
            let forward = |x, gate| cpu::gated_forward(&problem, x, gate, affine, true).unwrap();
            let expected = forward(x, gate);
            assert!(forward(far_x, far) == expected, "{order:?}, {what}");
            let rstd = expected.rstd.unwrap();
            let backward = |dy, x, gate| {
                cpu::gated_backward(&problem, dy, x, gate, &rstd, affine, ALL_GATED).unwrap()
            };
            assert!(
                backward(far_dy, far_x, far) == backward(dy, x, gate),
                "backward {order:?}, {what}"
            );
        }
    }
}

#[test]
fn rows_are_read_and_nothing_between_them() {
    for_every_type!(reading);
}

fn side_by_side<T: Kind>() {
    for inner in row_lens()
        .filter(|inner| *inner < 100)
        .chain([255, 256, 257, 289])
    {
        for row_len in [1, 2, 3, 5, 33] {
            let groups = 2;
            let problem = Problem::new(groups * inner, row_len, row_len.div_ceil(2), 1e-5).unwrap();
            let what = format!("{inner} rows of {row_len} side by side");
            let data = Data::<T>::new(&problem, patterns::r);
            let (affine, len) = (data.all_affine(), inner * row_len);
            let place = place(&problem);
            let far = [
                Spread::new(&data.x, len, place, 1),
                Spread::new(&data.dy, len, place + 1, 2 * place),
            ];
            let [far_x, far_dy] = [&far[0], &far[1]]
                .map(|far| Interleaved::new(&far.buffer[far.offset..], inner, far.pitch));
            let [x, dy] = [&data.x, &data.dy].map(|rows| Interleaved::new(rows, inner, len));

            let forward = |x| cpu::interleaved_forward(&problem, x, affine, true).unwrap();
            let expected = forward(x);
            assert_eq!(expected.y.len(), problem.elements(), "{what}");
            assert!(forward(far_x) == expected, "{what}");
            let rstd = expected.rstd.unwrap();
            let gamma = Some(&data.gamma[..]);
            let backward =
                |dy, x| cpu::interleaved_backward(&problem, dy, x, &rstd, gamma, ALL).unwrap();
            assert!(
                backward(far_dy, far_x) == backward(dy, x),
                "backward, {what}"
            );
        }
    }
}

#[test]
fn rows_side_by_side_are_read_and_nothing_between_their_groups() {
    for_every_type!(side_by_side);
}

/// An element too few, in every buffer there is.
fn refusing<T: Kind>() {
    for row_len in 1..=66 {
        let problem = Problem::new(ROWS, row_len, row_len, 1e-5).unwrap();
        let data = Data::<T>::new(&problem, gate_value);
        let short = |values: &[T]| values[..values.len() - 1].to_vec();
        let (short_x, affine) = (short(&data.x), data.all_affine());
        let refused = |buffer, found: Error, expected: usize| {
            let length = Error::Length {
                buffer,
                expected,
                found: expected - 1,
            };
            assert_eq!(found, length);
        };
        let elements = ROWS * row_len;
        let x = Rows::dense(&data.x, row_len);
        let few = Rows::dense(&short_x, row_len);
        refused(
            "x",
            cpu::forward(&problem, few, affine).unwrap_err(),
            elements,
        );
        let short_gamma = &data.gamma[..row_len - 1];
        let scale = Affine::Scale { gamma: short_gamma };
        refused(
            "gamma",
            cpu::forward(&problem, x, scale).unwrap_err(),
            row_len,
        );
        let added = cpu::add_forward(&problem, x, few, affine, false);
        refused("residual", added.unwrap_err(), elements);
        for order in ORDERS {
            let gate = Gate { rows: few, order };
            let gated = cpu::gated_forward(&problem, x, gate, affine, false);
            refused("gate", gated.unwrap_err(), elements);
        }
        let rstd: Vec<T::Statistic> = values(ROWS, |_| 1.0);
        let gamma = Some(&data.gamma[..]);
        let backward = |dy, x, rstd| cpu::backward(&problem, dy, x, rstd, gamma, ALL).unwrap_err();
        refused("dy", backward(few, x, &rstd[..]), elements);
        refused("x", backward(x, few, &rstd[..]), elements);
        refused("rstd", backward(x, x, &rstd[1..]), ROWS);

        let mut guarded = Guarded::new(&short_x, 1);
        let found = cpu::forward_in_place(&problem, guarded.inside(), affine).unwrap_err();
        refused("x", found, elements);
        guarded.assert_holds("refused in place", &short_x);

        let rows = Interleaved::new(&short_x, ROWS, elements);
        let found = cpu::interleaved_forward(&problem, rows, affine, false).unwrap_err();
        refused("x", found, elements);
    }
}

#[test]
fn a_buffer_that_is_an_element_short_is_refused() {
    for_every_type!(refusing);
    assert_eq!(Problem::new(ROWS, 0, 0, 1e-5), Err(Error::EmptyRow));
    let none = Error::StatLen {
        stat_len: 0,
        row_len: 4,
    };
    assert_eq!(Problem::new(ROWS, 4, 0, 1e-5), Err(none));
}
