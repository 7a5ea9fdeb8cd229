//! Whole runs: what they leave, that they repeat, and that a kill costs nothing.

use crate::bench::{Bench, read, train};

#[test]
fn a_run_leaves_its_files_and_generates() {
    let bench = Bench::new();
    let result = bench.result(&train("--steps 30 --norm prms"));
    assert!(result.ends_with("steps=30"), "{result}");
    let file = |name: &str| read(bench.path("artifacts/prms").join(name));
    let config = String::from_utf8(file("config.json")).unwrap();
    assert!(config.contains("\"partial\": 0.0625"), "{config}");
    let metrics = String::from_utf8(file("metrics.csv")).unwrap();
    assert_eq!(
        metrics.lines().filter(|row| row.contains("train")).count(),
        30
    );
    assert_eq!(
        metrics.lines().filter(|row| row.contains("valid")).count(),
        15
    );
    assert!(file("loss.svg").starts_with(b"<svg"));
    assert!(file("loss.png").starts_with(b"\x89PNG"));
    assert!(!file("sample.txt").is_empty());

    let generate = "generate --run artifacts/prms --prompt box --tokens 20 --seed 3";
    let text = bench.run(generate);
    assert!(
        text.status.success() && text.stdout.starts_with(b"box"),
        "{text:?}"
    );
    assert_eq!(text.stdout, bench.run(generate).stdout);
    bench.refused(
        "generate --run artifacts/prms --temperature nan",
        2,
        &["--temperature", "nan"],
    );
    std::fs::remove_dir_all(bench.path("artifacts/prms/checkpoints")).unwrap();
    bench.refused(generate, 2, &["--run artifacts/prms", "checkpoint"]);
}

#[test]
fn every_norm_learns() {
    let bench = Bench::new();
    for norm in ["rms", "prms --partial 0.5", "layer", "burn-rms"] {
        let result = bench.result(&train(&format!("--steps 60 --norm {norm}")));
        let bits = result.split(['=', ' ']).nth(2).unwrap();
        assert!(bits.parse::<f64>().unwrap() < 4.0, "{norm}: {result}");
    }
}

#[test]
fn the_same_seed_gives_the_same_curve() {
    let bench = Bench::new();
    let results = ["--out a", "--out b", "--out c --seed 2"]
        .map(|out| bench.result(&train(&format!("--steps 20 {out}"))));
    assert_eq!(results[0], results[1]);
    let curve = |out: &str| read(bench.path(out).join("metrics.csv"));
    assert!(curve("a") == curve("b"));
    assert!(curve("a") != curve("c"));
}

#[test]
fn a_killed_run_resumes_to_the_same_end() {
    let bench = Bench::new();
    let whole = bench.result(&train("--steps 400 --out whole"));

    let options = train("--steps 400 --out killed");
    bench.killed(&options, "killed");

    bench.refused(&options, 2, &["--out killed", "--resume"]);
    bench.refused(
        "train --out killed --resume --d-model 32",
        2,
        &["--d-model 32", "started with 16"],
    );
    bench.refused(
        "train --out killed --resume --text killed/config.json",
        2,
        &["--text"],
    );
    // What a save leaves that is killed while it writes.
    let left = bench.path("killed/checkpoints/optimizer-9.tmp.1-7.tmp");
    std::fs::write(&left, "").unwrap();
    assert_eq!(bench.result("train --out killed --resume"), whole);
    assert!(!left.exists());
    let curve = |out: &str| read(bench.path(out).join("metrics.csv"));
    assert!(curve("whole") == curve("killed"));
}

#[test]
fn a_finished_run_is_replaced_only_by_its_like() {
    let bench = Bench::new();
    let options = train("--steps 4 --out run");
    let first = bench.result(&options);
    assert_eq!(bench.result(&options), first);
    assert_eq!(bench.result(&format!("{options} --resume")), first);
    bench.refused(
        &train("--steps 5 --out run"),
        2,
        &["--out run", "finished", "--steps 4"],
    );

    // A text that changed since is another text.
    std::fs::write(bench.path("text"), "now something else ".repeat(60)).unwrap();
    bench.refused("train --out run --resume", 2, &["--text"]);
    assert!(bench.path("run/sample.txt").exists());
}

#[test]
fn a_broken_checkpoint_is_one_line() {
    let bench = Bench::new();
    bench.result(&train("--steps 2 --out run"));
    std::fs::write(bench.path("run/checkpoints/model-2.bpk"), "broken").unwrap();
    bench.refused("generate --run run", 1, &["model-2.bpk"]);
    bench.refused("train --out run --resume", 1, &["model-2.bpk"]);
}
