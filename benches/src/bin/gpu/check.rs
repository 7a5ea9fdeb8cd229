//! Is every routine right on every case of the catalogue?
//!
//! The device does one thing at a time, but the oracle is the host's: cases are judged on several
//! threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use fused_norm_cube_tests::{Kernels, of_the_mapping};
use fused_norm_kernels::cube::{Mapping, Routine};
use fused_norm_testkit::{Case, FloatKind, Report, judge, properties, selected};

use crate::device::Gpu;
use crate::output::Output;
use crate::variants;

/// Threads at most.
const THREADS: usize = 8;
/// Failures of a line that are told in full.
const IN_FULL: usize = 5;

/// The cases of a type for a routine, and what came of them.
struct Group {
    routine: Option<Routine>,
    kind: FloatKind,
    cases: Vec<Case>,
    refused: usize,
    tally: Mutex<Tally>,
}

#[derive(Default)]
struct Tally {
    judged: usize,
    passed: usize,
    skipped: usize,
    /// Why cases were skipped, and how many.
    reasons: BTreeMap<String, usize>,
    failures: Vec<String>,
}

/// Judges until the time is up, what matters most first; `true` if everything was judged and nothing failed.
///
/// `NORM_FILTER` runs the cases whose name contains it.
pub fn run(gpu: &Gpu, output: &mut Output, until: Instant) -> bool {
    let selected = catalogue(gpu, output, until, &[None]);
    let variants = variants::run(gpu, output, until);
    let forced = catalogue(gpu, output, until, &Routine::ALL.map(Some));
    selected && variants && forced
}

fn catalogue(gpu: &Gpu, output: &mut Output, until: Instant, routines: &[Option<Routine>]) -> bool {
    let groups = groups(gpu, routines);
    let jobs: Vec<(&Group, &Case)> = groups
        .iter()
        .flat_map(|group| group.cases.iter().map(move |case| (group, case)))
        .collect();
    for group in groups.iter().filter(|group| group.cases.is_empty()) {
        output.line(&group.line(&lock(&group.tally)));
    }
    let next = AtomicUsize::new(0);
    let shared = Mutex::new(output);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(THREADS) {
            scope.spawn(|| {
                while let Some((group, case)) = jobs.get(next.fetch_add(1, Ordering::Relaxed))
                    && Instant::now() < until
                {
                    let report = group.judge(gpu, case);
                    let mut tally = lock(&group.tally);
                    tally.add(report);
                    if tally.judged == group.cases.len() {
                        lock(&shared).line(&group.line(&tally));
                    }
                }
            });
        }
    });
    let output = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut passed = true;
    for group in &groups {
        let tally = lock(&group.tally);
        if tally.judged < group.cases.len() {
            output.line(&group.line(&tally));
        }
        passed &= tally.failures.is_empty() && tally.judged == group.cases.len();
    }
    passed
}

fn groups(gpu: &Gpu, routines: &[Option<Routine>]) -> Vec<Group> {
    let kinds = [
        FloatKind::F32,
        FloatKind::BF16,
        FloatKind::F16,
        FloatKind::F64,
    ];
    let pairs = routines
        .iter()
        .flat_map(|routine| kinds.map(|kind| (*routine, kind)));
    pairs
        .map(|(routine, kind)| {
            let kernels = kernels(gpu, routine);
            let of_kind = selected().into_iter().filter(|case| case.x_kind == kind);
            let (plain, others): (Vec<Case>, Vec<Case>) = of_kind.partition(Case::is_plain);
            let (refused, cases): (Vec<Case>, Vec<Case>) =
                plain.into_iter().partition(|case| kernels.refuses(case));
            let mut tally = Tally::default();
            if !others.is_empty() {
                let reason = "variants are not judged by the catalogue here".into();
                tally.skipped += others.len();
                tally.reasons.insert(reason, others.len());
            }
            Group {
                routine,
                kind,
                cases,
                refused: refused.len(),
                tally: Mutex::new(tally),
            }
        })
        .collect()
}

fn kernels(gpu: &Gpu, routine: Option<Routine>) -> Kernels {
    Kernels {
        name: gpu.name,
        client: gpu.client.clone(),
        mapping: Mapping {
            routine,
            limits: None,
        },
    }
}

impl Group {
    fn judge(&self, gpu: &Gpu, case: &Case) -> Report {
        let kernels = kernels(gpu, self.routine);
        let asked = match self.routine {
            None => properties(),
            Some(_) => of_the_mapping(),
        };
        judge(&kernels, std::slice::from_ref(case), &asked)
    }

    fn line(&self, tally: &Tally) -> String {
        let routine = match self.routine {
            None => "selected".into(),
            Some(routine) => format!("{routine:?}"),
        };
        let failed = tally.failures.len();
        let mut text = format!(
            "{:<4} {routine:<8} {} cases: {} checks passed, {failed} failed, {} skipped",
            self.kind.name(),
            tally.judged,
            tally.passed,
            tally.skipped
        );
        if self.refused > 0 {
            let refused = self.refused;
            text += &format!("; {refused} cases skipped: rows that {routine} cannot take here");
        }
        for (reason, count) in &tally.reasons {
            text += &format!("; {count} cases skipped: {reason}");
        }
        let left = self.cases.len() - tally.judged;
        if left > 0 {
            text += &format!("; {left} cases NOT JUDGED: out of time");
        }
        for failure in tally.failures.iter().take(IN_FULL) {
            text += &format!("\n  FAILED {}", failure.replace('\n', "\n  "));
        }
        if failed > IN_FULL {
            text += &format!("\n  FAILED in {} more checks", failed - IN_FULL);
        }
        text
    }
}

impl Tally {
    fn add(&mut self, report: Report) {
        self.judged += 1;
        self.passed += report.passed;
        for ((what, reason), count) in report.skips {
            self.skipped += count;
            if what == "case" {
                *self.reasons.entry(reason).or_default() += count;
            }
        }
        let failures = report.failures.into_iter();
        self.failures
            .extend(failures.map(|failure| format!("{}: {}", failure.property, failure.message)));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
