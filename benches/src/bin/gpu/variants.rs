//! Are the variants right, and rows that lie side by side, in the routines that are selected for them?

use std::time::Instant;

use fused_norm_cube_tests::elem;
use fused_norm_cube_tests::side_by_side::{self, SideBySide};
use fused_norm_cube_tests::trial::{self, OPERANDS, Trial};
use fused_norm_kernels::cube;
use fused_norm_testkit::FloatKind;

use crate::caught;
use crate::device::Gpu;
use crate::output::Output;

/// Dense, and with gaps behind the groups of dy and of x.
const GAPS: [[usize; 2]; 2] = [[0, 0], [3, 5]];

/// Judges until the time is up; `true` if everything was judged and nothing failed.
pub fn run(gpu: &Gpu, output: &mut Output, until: Instant) -> bool {
    let mut passed = true;
    for kind in [FloatKind::F32, FloatKind::BF16] {
        if !cube::supports(&gpu.client, elem(kind)) {
            let name = kind.name();
            output.line(&format!(
                "{name:<4} variants: skipped, as the device lacks the type"
            ));
            continue;
        }
        for operand in OPERANDS {
            let trials = trial::SHAPES.into_iter().enumerate();
            let trials = trials.map(|(turn, shape)| {
                let trial = Trial::new(shape, operand, kind, turn);
                move || trial.wrong(&gpu.client, None, trial.all())
            });
            let what = format!("{:<4} {operand:?}", kind.name());
            passed &= judged(output, &what, trials, until);
        }
        let sides = side_by_side::SHAPES.into_iter().enumerate();
        let sides = sides.flat_map(|(turn, shape)| GAPS.map(|gaps| (turn, shape, gaps)));
        let sides = sides.map(|(turn, shape, gaps)| {
            let sides = SideBySide::new(shape, kind, turn);
            move || sides.wrong(&gpu.client, gaps, sides.rows.all())
        });
        let what = format!("{:<4} rows side by side", kind.name());
        passed &= judged(output, &what, sides, until);
    }
    passed
}

/// Each trial returns what is wrong, a line each.
fn judged<T: FnOnce() -> Vec<String>>(
    output: &mut Output,
    what: &str,
    trials: impl Iterator<Item = T>,
    until: Instant,
) -> bool {
    let (mut right, mut left, mut wrong) = (0, 0, vec![]);
    for trial in trials {
        if Instant::now() >= until {
            left += 1;
            continue;
        }
        match caught(|| Ok(trial())) {
            Ok(lines) if lines.is_empty() => right += 1,
            Ok(lines) => wrong.push(lines.join("\n  ")),
            Err(error) => wrong.push(error),
        }
    }
    let mut line = format!("{what}: {right} trials passed, {} failed", wrong.len());
    if left > 0 {
        line += &format!("; {left} NOT JUDGED: out of time");
    }
    for wrong in &wrong {
        line += &format!("\n  FAILED {wrong}");
    }
    output.line(&line);
    wrong.is_empty() && left == 0
}
