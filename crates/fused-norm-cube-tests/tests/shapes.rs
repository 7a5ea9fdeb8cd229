//! Row counts around the limits of a launch, row lengths around the limits of a routine, and the same
//! bits whatever surrounds a row and however often it is computed.
#![cfg(feature = "cube")]

use fused_norm_cube_tests::{Kernels, devices};
use fused_norm_testkit::{
    AffineForm, Case, FloatKind, Outcome, Property, Subject, Want, judge, properties,
};

const ROWS: [usize; 4] = [65_535, 65_536, 65_537, 70_001];
/// Odd ones; and, for vectors of one and of four, where GPUs with planes of 32 change the routine or
/// what a lane holds.
const ROW_LENS: [usize; 24] = [
    1, 2, 3, 5, 7, 31, 33, 63, 65, 127, 129, 257, 511, 513, 1023, 1025, 4097, 8191, 8193, 16_380,
    16_388, 32_768, 65_537, 131_072,
];

fn selected() -> Vec<Kernels> {
    devices()
        .into_iter()
        .map(|(name, device)| Kernels::new(name, &device, None))
        .collect()
}

fn values() -> Vec<Property> {
    let wanted = [
        "forward values",
        "dx values",
        "dgamma values",
        "dbeta values",
    ];
    let mut properties = properties();
    properties.retain(|property| wanted.contains(&property.name));
    assert_eq!(properties.len(), wanted.len());
    properties
}

fn case(rows: usize, row_len: usize) -> Case {
    Case::new("shapes", FloatKind::F32, &[rows, row_len]).affine(AffineForm::ScaleShift)
}

fn judged(cases: &[Case]) {
    for kernels in selected() {
        let report = judge(&kernels, cases, &values());
        eprintln!("{report}");
        assert!(report.passed(), "see above");
    }
}

#[test]
fn rows_past_what_an_axis_of_a_launch_takes() {
    let cases: Vec<Case> = ROWS
        .into_iter()
        .flat_map(|rows| [1, 7, 64].map(|row_len| case(rows, row_len)))
        .chain([case(70_001, 129).partial(Some(0.5))])
        .collect();
    judged(&cases);
}

#[test]
fn row_lengths_around_every_switch() {
    let cases: Vec<Case> = ROW_LENS
        .into_iter()
        .flat_map(|row_len| [case(3, row_len), case(2, row_len).partial(Some(0.3))])
        .collect();
    judged(&cases);
}

fn run(kernels: &Kernels, case: &Case) -> Outcome {
    kernels.run(case, Want::all(case)).unwrap()
}

/// Everything that a run returns, as bits.
fn bits(outcome: &Outcome) -> Vec<u64> {
    let gradients = [&outcome.dx, &outcome.dgamma, &outcome.dbeta];
    let gradients = gradients
        .into_iter()
        .flatten()
        .flat_map(|(values, _)| values);
    outcome
        .y
        .iter()
        .chain(gradients)
        .map(|value| value.to_bits())
        .collect()
}

#[test]
fn twenty_runs_give_the_same_bits() {
    for kernels in selected() {
        for case in [
            case(4099, 256),
            case(301, 1000),
            case(5, 8192),
            case(3, 40_000),
        ] {
            let first = bits(&run(&kernels, &case));
            for _ in 1..20 {
                assert!(
                    bits(&run(&kernels, &case)) == first,
                    "{} {}",
                    kernels.name,
                    case.name
                );
            }
        }
    }
}

/// The patterns repeat, so a row of a larger batch holds the values of the same row of a smaller one.
#[test]
fn a_row_has_the_same_bits_in_any_batch() {
    const ROW_LEN: usize = 1000;
    for kernels in selected() {
        let row = |outcome: &Outcome, row: usize| {
            let range = row * ROW_LEN..(row + 1) * ROW_LEN;
            let dx = &outcome.dx.as_ref().unwrap().0[range.clone()];
            let of = |values: &[f64]| {
                values
                    .iter()
                    .map(|value| value.to_bits())
                    .collect::<Vec<_>>()
            };
            (of(&outcome.y[range]), of(dx))
        };
        let batch = run(&kernels, &case(7, ROW_LEN));
        // Vulkan in software has no buffers of 280 MB.
        let software = matches!(kernels.name, "wgpu" | "vulkan");
        let rows = if software { 30_000 } else { 70_000 };
        let large = run(&kernels, &case(rows, ROW_LEN));
        assert_eq!(
            row(&batch, 5),
            row(&large, 5),
            "{} in a larger batch",
            kernels.name
        );
        let whole = case(7, ROW_LEN);
        let alone = Case::new("alone", FloatKind::F32, &[1, ROW_LEN])
            .affine(AffineForm::ScaleShift)
            .fill(fused_norm_testkit::Fill::given(
                whole.x()[5 * ROW_LEN..6 * ROW_LEN].to_vec(),
            ))
            .dy_fill(fused_norm_testkit::Fill::given(
                whole.dy()[5 * ROW_LEN..6 * ROW_LEN].to_vec(),
            ));
        assert_eq!(
            row(&run(&kernels, &alone), 0),
            row(&batch, 5),
            "{} alone",
            kernels.name
        );
    }
}
