//! What is launched and compiled, counted: a forward pass is one launch and a backward pass at most
//! two, whatever the rows; other row counts compile nothing new.
#![cfg(feature = "cube")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cubecl::logging::{LaunchObservation, LaunchObserver};
use fused_norm_cube_tests::side_by_side::SideBySide;
use fused_norm_cube_tests::trial::{OPERANDS, Trial};
use fused_norm_cube_tests::{Kernels, devices};
use fused_norm_kernels::cube::{Mapping, Routine};
use fused_norm_testkit::{AffineForm, Case, FloatKind, Subject, Want};

#[derive(Default)]
struct Launches(Mutex<Vec<&'static str>>);

impl LaunchObserver for Launches {
    fn launched(&self, kernel: &'static str) {
        self.0.lock().unwrap().push(kernel);
    }
}

/// Observations are the process's: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const ROW_LEN: usize = 96;
const ROW_COUNTS: usize = 64;
/// The kernels' names as the log writes them.
const FAMILIES: [&str; 6] = [
    "ForwardResident",
    "ForwardStreamed",
    "BackwardResident",
    "BackwardStreamed",
    "Columns",
    "Reduce",
];

fn case(rows: usize) -> Case {
    Case::new("counts", FloatKind::F32, &[rows, ROW_LEN]).affine(AffineForm::ScaleShift)
}

/// What `work` launches.
fn launched(work: impl FnOnce()) -> Vec<&'static str> {
    let launches = Arc::new(Launches::default());
    let watching = LaunchObservation::new(launches.clone());
    work();
    drop(watching);
    let launches = launches.0.lock().unwrap();
    launches.clone()
}

/// The routine that is launched, if not all are.
const ONE_ROUTINE: &str = "NORM_COUNTED_ROUTINE";

/// 64 row counts of one row length, forward and backward, with every routine: the launches of each.
fn launches_of_every_row_count() -> Vec<(String, usize, Vec<&'static str>)> {
    let _alone = alone();
    let mut all = vec![];
    let only = std::env::var(ONE_ROUTINE).ok();
    for (name, device) in devices() {
        for routine in Routine::ALL {
            let is_left_out = |only: &String| *only != format!("{routine:?}");
            if only.as_ref().is_some_and(is_left_out) {
                continue;
            }
            let kernels = Kernels::new(name, &device, Some(routine));
            if kernels.refuses(&case(1)) {
                continue;
            }
            for rows in (0..ROW_COUNTS).map(|i| 1 + i * i) {
                let case = case(rows);
                let launches = launched(|| {
                    kernels.run(&case, Want::all(&case)).unwrap();
                });
                all.push((format!("{name} {routine:?}"), rows, launches));
            }
        }
    }
    all
}

#[test]
fn one_launch_forward_and_at_most_two_backward() {
    for (what, rows, launches) in launches_of_every_row_count() {
        let named = |part: &str| launches.iter().filter(|name| name.contains(part)).count();
        assert_eq!(named("forward"), 1, "{what}, {rows} rows: {launches:?}");
        let backward = launches.len() - 1;
        assert!(
            (1..=2).contains(&backward),
            "{what}, {rows} rows: {launches:?}"
        );
    }
}

#[test]
fn variants_launch_no_more() {
    let _alone = alone();
    for (name, device) in devices() {
        let client = device.client();
        for operand in OPERANDS {
            for gamma_rows in [1, 4] {
                // More rows than a cube works on at a time, so that there are partial sums to add.
                let shape = [4096, ROW_LEN, ROW_LEN, gamma_rows];
                let trial = Trial::new(shape, operand, FloatKind::F32, 0);
                for routine in Routine::ALL {
                    if trial.can_run(&client, routine) {
                        let launches = launched(|| {
                            trial.run(&client, Some(routine), trial.all());
                        });
                        assert_eq!(
                            launches.len(),
                            3,
                            "{name} {routine:?} {operand:?} {gamma_rows}: {launches:?}"
                        );
                    }
                }
            }
        }
        for inner in [1, 6] {
            let shape = [4, ROW_LEN, ROW_LEN, inner];
            let sides = SideBySide::new(shape, FloatKind::F32, 0);
            let launches = launched(|| {
                sides.outputs(&client, [0, 0], sides.rows.all());
            });
            assert_eq!(launches.len(), 3, "{name} side by side: {launches:?}");
        }
    }
}

/// Runs the test of the plain kernels for each routine in a process of its own, which logs the compiled kernel of
/// every launch, with a hash of all that it was compiled for.
#[test]
fn row_counts_share_their_kernels() {
    for (name, device) in devices() {
        for routine in Routine::ALL {
            if !Kernels::new(name, &device, Some(routine)).refuses(&case(1)) {
                assert_one_kernel_a_family(name, &format!("{routine:?}"));
            }
        }
    }
}

fn assert_one_kernel_a_family(name: &str, routine: &str) {
    let file = format!(
        "fused-norm-launches-{}-{name}-{routine}",
        std::process::id()
    );
    let log = std::env::temp_dir().join(file);
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "one_launch_forward_and_at_most_two_backward"])
        .env("NORM_DEVICES", name)
        .env(ONE_ROUTINE, routine)
        .env("CUBECL_DEBUG_LOG", &log)
        .env("CUBECL_DEBUG_OPTION", "profile-medium")
        .output()
        .unwrap();
    assert!(output.status.success(), "{name} {routine}: {output:?}");
    let text = std::fs::read_to_string(&log).unwrap();
    let _ = std::fs::remove_file(&log);
    let mut launches = 0;
    let mut compiled = BTreeMap::<&str, BTreeSet<&str>>::new();
    for line in text.lines() {
        let words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        for kernel in words.filter_map(|word| word.split_once('_').map(|_| word)) {
            let (family, hash) = kernel.rsplit_once('_').expect("it has an underscore");
            if FAMILIES.contains(&family) {
                launches += 1;
                compiled.entry(family).or_default().insert(hash);
            }
        }
    }
    println!("{name} {routine}: {launches} launches, compiled: {compiled:?}");
    assert!(
        launches >= 2 * ROW_COUNTS,
        "{name} {routine}: {launches} launches in the log"
    );
    for (family, hashes) in compiled {
        assert_eq!(hashes.len(), 1, "{name} {routine} {family}: {hashes:?}");
    }
}

/// Where one cube walks over all rows, its sums are the gradients.
#[test]
fn one_row_of_partial_sums_is_not_added_up() {
    let _alone = alone();
    for (name, device) in devices() {
        let client = device.client();
        let max_units = Mapping::default().limits_on(&client).max_units;
        for operand in OPERANDS {
            let trial = Trial::new([1, ROW_LEN, ROW_LEN, 1], operand, FloatKind::F32, 0);
            for routine in Routine::ALL {
                if trial.can_run(&client, routine) {
                    let launches = launched(|| {
                        trial.run(&client, Some(routine), trial.all());
                    });
                    let expected = match routine {
                        Routine::Plane | Routine::Cube => 2,
                        // Each unit of a cube has sums of its own.
                        Routine::Unit if max_units == 1 => 2,
                        Routine::Looped | Routine::Unit => 3,
                    };
                    assert_eq!(
                        launches.len(),
                        expected,
                        "{name} {routine:?} {operand:?}: {launches:?}"
                    );
                    let wrong = trial.wrong(&client, Some(routine), trial.all());
                    assert!(wrong.is_empty(), "{name}: {wrong:?}");
                }
            }
        }
    }
}
