//! What the orders of rounding that libraries use cost in bf16: the table of `docs/numerics.md`, which
//! `--nocapture` prints.

use fused_norm_testkit::FloatKind::{BF16, F32};
use fused_norm_testkit::Random;

const ROWS: usize = 64;
const ROW_LEN: usize = 2048;
const EPSILON: f64 = 1e-6;

/// An element's value from x, rstd and gamma, none of them rounded but to their own types.
type Order = fn(f64, f64, f64) -> f64;

/// As [`FloatKind::round`](fused_norm_testkit::FloatKind::round), each product in f32 first.
const ORDERS: [(&str, Order); 4] = [
    ("f32 throughout, one rounding", |x, mean_square, gamma| {
        let rstd = F32.round(1.0 / (mean_square + EPSILON).sqrt());
        BF16.round(F32.round(F32.round(x * rstd) * gamma))
    }),
    (
        "rounded, then multiplied by gamma",
        |x, mean_square, gamma| {
            let rstd = F32.round(1.0 / (mean_square + EPSILON).sqrt());
            BF16.round(F32.round(BF16.round(F32.round(x * rstd)) * gamma))
        },
    ),
    (
        "rstd rounded to bf16, then as above",
        |x, mean_square, gamma| {
            let rstd = BF16.round(1.0 / (mean_square + EPSILON).sqrt());
            BF16.round(F32.round(BF16.round(F32.round(x * rstd)) * gamma))
        },
    ),
    ("burn 0.22.1", |x, mean_square, gamma| {
        let root = BF16.round((mean_square + EPSILON).sqrt());
        BF16.round(F32.round(BF16.round(F32.round(x / root)) * gamma))
    }),
];

/// Share of outputs that are not the correctly rounded value, the largest error in steps of bf16, and the
/// mean over rows of the relative error of a row's scale.
fn cost(order: Order) -> [f64; 3] {
    let mut random = Random(7);
    let gamma: Vec<f64> = (0..ROW_LEN)
        .map(|_| BF16.round(1.0 + 0.2 * random.normal()))
        .collect();
    let (mut wrong, mut largest, mut bias) = (0, 0.0_f64, 0.0);
    for row in 0..ROWS {
        let scale = 2_f64.powi((row % 10) as i32 - 3);
        let x: Vec<f64> = (0..ROW_LEN)
            .map(|_| BF16.round(scale * random.normal()))
            .collect();
        let mean_square = x.iter().map(|x| x * x).sum::<f64>() / ROW_LEN as f64;
        let rstd = 1.0 / (mean_square + EPSILON).sqrt();
        let (mut along, mut square) = (0.0, 0.0);
        for (x, gamma) in x.iter().zip(&gamma) {
            let exact = x * rstd * gamma;
            let y = order(*x, mean_square, *gamma);
            wrong += usize::from(y != BF16.round(exact));
            largest = largest.max((y - exact).abs() / BF16.ulp(exact));
            along += y * exact;
            square += exact * exact;
        }
        // The factor by which the exact row has to be multiplied to come nearest to this one.
        bias += (along / square - 1.0).abs();
    }
    [
        100.0 * wrong as f64 / (ROWS * ROW_LEN) as f64,
        largest,
        bias / ROWS as f64,
    ]
}

#[test]
fn one_rounding_is_right_and_the_others_are_as_the_page_says() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/numerics.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut missing = vec![];
    for (index, (name, order)) in ORDERS.into_iter().enumerate() {
        let [wrong, largest, bias] = cost(order);
        let row = format!("| {name} | {wrong:.1} % | {largest:.2} | {bias:.1e} |");
        println!("{row}");
        match index {
            // Rstd, and two products, are rounded to f32 on the way: a tie may fall otherwise.
            0 => assert!(wrong < 0.05 && largest < 0.51, "{row}"),
            _ => assert!(wrong > 20.0 && largest > 1.0, "{row}"),
        }
        if !page.contains(&row) {
            missing.push(row);
        }
    }
    assert!(missing.is_empty(), "not on the page: {missing:#?}");
}
