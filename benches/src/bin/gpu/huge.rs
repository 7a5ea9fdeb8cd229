//! Are tensors of more than 2³¹ and 2³² elements right?
//!
//! Rows of zeros and a last row of ±16. An index that wraps writes the last row's values elsewhere:
//! an offset in bytes of 32 bits puts them into row 0.

use cubecl::server::Handle;
use fused_norm_cube_tests::{elem, values};
use fused_norm_kernels::cube::{
    self, Affine, Backward, Forward, Mapping, Operand, Parameter, Routine, Rows, Wanted,
};
use fused_norm_kernels::{Error, Problem};
use fused_norm_testkit::FloatKind;

use crate::device::Gpu;
use crate::fill::{self, Tail};
use crate::output::Output;
use crate::{caught, shapes};

const KIND: FloatKind = FloatKind::F16;
const ROW_LEN: usize = 4096;
const ROW_BYTES: usize = 2 * ROW_LEN;
/// 2³¹ and 2³² elements, and one row more.
const ROWS: [usize; 2] = [524_289, 1_048_577];
/// Buffers of this size that are alive together, and room for the pieces between them.
const BUFFERS: f64 = 3.5;

/// Judges every routine; `true` if none failed.
pub fn run(gpu: &Gpu, output: &mut Output, max_elements: Option<usize>) -> bool {
    if !gpu.supports(KIND) {
        output.line(&format!(
            "{KIND}, more than 2^31 elements: skipped: the device does not have it"
        ));
        return true;
    }
    let mut passed = true;
    for rows in ROWS {
        let rows = max_elements.map_or(rows, |most| rows.min((most / ROW_LEN).max(4)));
        let what = format!("{KIND} [{rows}, {ROW_LEN}]");
        let needed = BUFFERS * (rows * ROW_BYTES) as f64;
        if let Some(memory) = gpu.memory
            && needed > memory as f64
        {
            let gib = (1u64 << 30) as f64;
            let (needed, memory) = (needed / gib, memory as f64 / gib);
            output.line(&format!(
                "{what}: skipped: it needs {needed:.0} GiB of memory, the device has {memory:.0}"
            ));
            continue;
        }
        for routine in [None].into_iter().chain(Routine::ALL.map(Some)) {
            let name = routine.map_or("selected".into(), |routine| format!("{routine:?}"));
            let verdict = match caught(|| judged(gpu, rows, routine)) {
                Ok(Verdict::Passed) => "passed, forward and backward".to_string(),
                Ok(Verdict::Refused(error)) => format!("skipped: {error}"),
                Err(error) => {
                    passed = false;
                    format!("FAILED: {error}")
                }
            };
            output.line(&format!("{what} {name:<8} {verdict}"));
        }
        gpu.clean_up();
    }
    passed
}

enum Verdict {
    Passed,
    Refused(Error),
}

fn judged(gpu: &Gpu, rows: usize, routine: Option<Routine>) -> Result<Verdict, String> {
    let client = &gpu.client;
    let problem =
        Problem::new(rows, ROW_LEN, ROW_LEN, shapes::EPSILON).map_err(|error| error.to_string())?;
    let tail = |kind, len, first, [common, even, odd]: [f32; 3]| {
        let tail = Tail {
            first,
            common,
            even,
            odd,
        };
        fill::tail(client, kind, len, tail)
    };
    let last = (rows - 1) * ROW_LEN;
    let activation = |values| {
        let handle = tail(KIND, rows * ROW_LEN, last, values);
        Rows::dense(handle, elem(KIND), ROW_LEN)
    };
    let parameter = |value| Parameter {
        handle: tail(FloatKind::F32, ROW_LEN, 0, [value; 3]),
        elem: elem(FloatKind::F32),
    };
    let affine = Affine::ScaleShift {
        gamma: parameter(1.0),
        beta: parameter(0.0),
    };

    // The memory of the next output holds what no output does: it may be an earlier one's, with its values.
    let spoil = || drop(activation([7.0; 3]));

    let x = activation([0.0, 16.0, -16.0]);
    spoil();
    let args = Forward {
        x: x.clone(),
        operand: Operand::None,
        affine: affine.clone(),
        with_rstd: true,
        in_place: false,
        mapping: Mapping {
            routine,
            limits: None,
        },
    };
    let normalised = match cube::forward(client, &problem, args) {
        Err(error @ Error::Routine { .. }) => return Ok(Verdict::Refused(error)),
        other => other.map_err(|error| format!("forward: {error}"))?,
    };
    let zeros = [0, 1, 65_535, 65_536, rows / 2, rows - 2];
    let zeros = zeros.into_iter().filter(|&row| row < rows - 1);
    for row in zeros.clone() {
        let got = read_row(gpu, &normalised.y, row)?;
        all(&got, &format!("y, row {row}"), 0.0, |_| 0.0)?;
    }
    let got = read_row(gpu, &normalised.y, rows - 1)?;
    all(&got, "y, last row", 0.0, sign)?;
    drop(normalised.y);

    let dy = activation([1.0; 3]);
    spoil();
    let args = Backward {
        dy,
        x,
        gate: None,
        rstd: normalised.rstd.ok_or("no rstd")?,
        affine,
        wanted: Wanted {
            dx: true,
            dgate: false,
            dgamma: true,
            dbeta: true,
        },
        mapping: Mapping {
            routine,
            limits: None,
        },
    };
    let gradients = match cube::backward(client, &problem, args) {
        Err(error @ Error::Routine { .. }) => return Ok(Verdict::Refused(error)),
        other => other.map_err(|error| format!("backward: {error}"))?,
    };
    let dx = gradients.dx.ok_or("no dx")?;
    for row in zeros {
        // 1/√epsilon = 316.2278, as f16.
        all(
            &read_row(gpu, &dx, row)?,
            &format!("dx, row {row}"),
            0.0,
            |_| 316.25,
        )?;
    }
    // Σ dy·x is 0 there, so that dx = rstd = 1/16.
    all(&read_row(gpu, &dx, rows - 1)?, "dx, last row", 0.0, |_| {
        0.0625
    })?;
    let column = |handle: Option<Handle>| -> Result<Vec<f64>, String> {
        let bytes = client.read_one(handle.ok_or("no gradient")?);
        Ok(values(
            FloatKind::F32,
            &bytes.map_err(|error| error.to_string())?,
        ))
    };
    all(&column(gradients.dgamma)?, "dgamma", 1e-5, sign)?;
    all(&column(gradients.dbeta)?, "dbeta", 0.0, |_| rows as f64)?;
    Ok(Verdict::Passed)
}

fn sign(column: usize) -> f64 {
    if column.is_multiple_of(2) { 1.0 } else { -1.0 }
}

fn read_row(gpu: &Gpu, handle: &Handle, row: usize) -> Result<Vec<f64>, String> {
    let before = (row * ROW_BYTES) as u64;
    let after = handle.size_in_used() - before - ROW_BYTES as u64;
    let row = handle.clone().offset_start(before).offset_end(after);
    let bytes = gpu
        .client
        .read_one(row)
        .map_err(|error| error.to_string())?;
    Ok(values(KIND, &bytes))
}

fn all(got: &[f64], what: &str, slack: f64, expected: impl Fn(usize) -> f64) -> Result<(), String> {
    let wrong = |&(column, got): &(usize, &f64)| {
        let within = (got - expected(column)).abs() <= slack;
        !within
    };
    match got.iter().enumerate().find(wrong) {
        Some((column, got)) => Err(format!(
            "{what}, column {column}: {got}, expected {}",
            expected(column)
        )),
        None if got.len() != ROW_LEN => Err(format!("{what} has {} elements", got.len())),
        None => Ok(()),
    }
}
