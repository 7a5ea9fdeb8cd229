//! Disks that are full and folders that cannot be written: one line, an exit code, and the last whole
//! checkpoint is still there.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

use crate::bench::{Bench, one_line, train};

/// The program where no file may be larger than `kib`, which is told as a full disk is: by an error of
/// the write.
fn with_small_files(bench: &Bench, kib: usize, arguments: &str) -> Output {
    let program = bench.command(arguments);
    let mut shell = Command::new("sh");
    // The unit of `ulimit -f` is 512 bytes. Ignored signals stay ignored in the program.
    let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", 2 * kib);
    shell
        .args(["-c", &script])
        .arg(program.get_program())
        .args(program.get_args())
        .current_dir(bench.path(""));
    shell.output().expect("the shell starts")
}

fn generates(bench: &Bench, run: &str) {
    let output = bench.run(&format!("generate --run {run} --tokens 5"));
    assert!(output.status.success(), "{output:?}");
}

fn temporary_files(bench: &Bench, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(bench.path(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| !name.ends_with(".bpk") && name != "config.json")
        .collect()
}

#[test]
fn a_disk_that_fills_up_in_the_middle_of_a_run() {
    let bench = Bench::new();
    let whole = bench.result(&train("--steps 400 --out whole"));
    bench.killed(&train("--steps 400 --out run"), "run");
    // Enough for the metrics, too little for a model.
    let resume = "train --out run --resume";
    for _ in 0..2 {
        let output = with_small_files(&bench, 30, resume);
        one_line(output, resume, 1, &["error: ", "File too large"]);
        generates(&bench, "run");
    }
    assert_eq!(bench.result(resume), whole);
    assert_eq!(temporary_files(&bench, "run/checkpoints"), [""; 0]);
}

#[test]
fn a_disk_that_is_full_from_the_start() {
    let bench = Bench::new();
    let arguments = train("--steps 4 --out run");
    let output = with_small_files(&bench, 0, &arguments);
    one_line(
        output,
        &arguments,
        1,
        &["run/", "config.json", "File too large"],
    );
    let output = with_small_files(&bench, 30, &arguments);
    one_line(output, &arguments, 1, &["error: ", "File too large"]);
    bench.refused("generate --run run", 2, &["no checkpoint"]);
    // A run of which there is no checkpoint may be started anew.
    bench.result(&arguments);
    generates(&bench, "run");
}

#[test]
fn an_output_that_is_full() {
    let bench = Bench::new();
    bench.result(&train("--steps 2 --out run"));
    let arguments = "generate --run run --tokens 5";
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = bench
        .command(arguments)
        .stdout(full)
        .stderr(Stdio::piped())
        .output();
    one_line(
        output.unwrap(),
        arguments,
        1,
        &["standard output", "No space left"],
    );
}

/// The program as somebody who may not write what is not theirs: whoever runs the tests, or, where that
/// is root, nobody.
fn as_nobody(bench: &Bench, arguments: &str) -> Command {
    let command = bench.command(arguments);
    let folder = bench.path("");
    if std::fs::metadata(&folder).unwrap().uid() != 0 {
        return command;
    }
    let copy = bench.path("program");
    if !copy.exists() {
        let program = command.get_program();
        if std::fs::hard_link(program, &copy).is_err() {
            std::fs::copy(program, &copy).unwrap();
        }
    }
    let mut other = Command::new(copy);
    other
        .args(command.get_args())
        .current_dir(folder)
        .uid(65_534)
        .gid(65_534);
    other
}

fn mode(bench: &Bench, name: &str, mode: u32) {
    set_permissions(bench.path(name), Permissions::from_mode(mode)).unwrap();
}

#[test]
fn folders_that_cannot_be_written() {
    let bench = Bench::new();
    let whole = bench.result(&train("--steps 400 --out whole"));
    bench.killed(&train("--steps 400 --out run"), "run");
    mode(&bench, "", 0o555);
    let arguments = train("--steps 2 --out new");
    let output = as_nobody(&bench, &arguments).output().unwrap();
    one_line(
        output,
        &arguments,
        1,
        &["cannot create new", "Permission denied"],
    );

    mode(&bench, "run", 0o555);
    mode(&bench, "run/checkpoints", 0o555);
    let resume = "train --out run --resume";
    let output = as_nobody(&bench, resume).output().unwrap();
    one_line(output, resume, 1, &["run/metrics.csv", "Permission denied"]);
    let generate = as_nobody(&bench, "generate --run run --tokens 5")
        .output()
        .unwrap();
    assert!(generate.status.success(), "{generate:?}");

    for name in ["", "run", "run/checkpoints"] {
        mode(&bench, name, 0o755);
    }
    assert_eq!(bench.result(resume), whole);
}
