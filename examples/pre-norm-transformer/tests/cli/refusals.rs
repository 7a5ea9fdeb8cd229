//! Every wrong command line gets one line that names the option and the value, exit code 2, and
//! leaves no trace on the disk.

use crate::bench::{Bench, read, train};

#[test]
fn values_that_cannot_be() {
    let bench = Bench::new();
    for (options, parts) in [
        ("--norm group", &["--norm", "group", "burn-rms"][..]),
        ("--device abacus", &["--device", "abacus", "flex"]),
        ("--partial 0 --norm prms", &["--partial", "'0'"]),
        ("--partial nan --norm prms", &["--partial", "'nan'"]),
        ("--partial 1.5 --norm prms", &["--partial", "'1.5'"]),
        ("--partial -1 --norm prms", &["--partial", "'-1'"]),
        ("--partial half --norm prms", &["--partial", "'half'"]),
        (
            "--partial 0.5 --norm layer",
            &["--partial 0.5", "--norm layer"],
        ),
        ("--steps 0", &["--steps", "'0'"]),
        ("--steps many", &["--steps", "'many'"]),
        ("--batch 0", &["--batch", "'0'"]),
        ("--context 0", &["--context", "'0'"]),
        ("--d-model 0", &["--d-model", "'0'"]),
        ("--layers 0", &["--layers", "'0'"]),
        ("--heads 0", &["--heads", "'0'"]),
        ("--heads 3", &["--heads 3", "--d-model 128"]),
        ("--heads 128", &["--heads 128", "even"]),
        ("--lr 0", &["--lr", "'0'"]),
        ("--lr inf", &["--lr", "'inf'"]),
        ("--dropout 1", &["--dropout", "'1'"]),
        ("--weight-decay -0.1", &["--weight-decay", "'-0.1'"]),
        ("--seed -1", &["--seed", "'-1'"]),
        ("--stepz 3", &["--stepz", "--steps"]),
        ("--resume", &["--resume", "out"]),
    ] {
        let train = "train --text text --out out ";
        bench.refused(&format!("{train}{options}"), 2, parts);
    }
    assert!(!bench.path("out").exists());
}

#[test]
fn a_backend_that_is_not_compiled_in_names_its_feature() {
    let bench = Bench::new();
    let compiled_in = [
        ("cuda", cfg!(feature = "cuda")),
        ("rocm", cfg!(feature = "rocm")),
        ("metal", cfg!(feature = "metal")),
        ("ndarray", cfg!(feature = "ndarray")),
    ];
    for (name, _) in compiled_in.iter().filter(|(_, compiled_in)| !compiled_in) {
        let device = format!("--device {name}");
        let feature = format!("--features {name}");
        bench.refused(
            &train(&format!("--out out {device}")),
            2,
            &[&device, &feature],
        );
    }
    assert!(!bench.path("out").exists());
}

#[test]
fn texts_that_cannot_be_learned_from() {
    let bench = Bench::new();
    std::fs::write(bench.path("empty"), "").unwrap();
    std::fs::write(bench.path("short"), "too short").unwrap();
    for (files, parts) in [
        ("--text missing", &["--text missing", "No such file"][..]),
        ("--text .", &["--text ."]),
        ("--text empty", &["--text empty", "empty"]),
        ("--text text --text empty", &["--text empty"]),
        ("--text short", &["--text short", "9 bytes", "--context 16"]),
    ] {
        bench.refused(&format!("train --context 16 --out out {files}"), 2, parts);
    }
    assert!(!bench.path("out").exists());
}

#[test]
fn a_folder_that_cannot_be_written() {
    let bench = Bench::new();
    bench.refused(&train("--steps 1 --out text/run"), 1, &["text/run"]);
}

#[test]
fn folders_that_are_no_run() {
    let bench = Bench::new();
    bench.refused("generate --run nowhere", 2, &["--run nowhere"]);
    std::fs::create_dir(bench.path("other")).unwrap();
    std::fs::write(bench.path("other/config.json"), "{\"name\": 1}").unwrap();
    bench.refused("generate --run other", 2, &["other/config.json"]);
    bench.refused(&train("--out other"), 2, &["other/config.json"]);
    assert_eq!(read(bench.path("other/config.json")), b"{\"name\": 1}");
}
