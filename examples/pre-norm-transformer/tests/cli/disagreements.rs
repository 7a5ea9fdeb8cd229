//! A run, its config and its text that no longer belong together.

use crate::bench::{Bench, read, train};

fn replace(bench: &Bench, name: &str, from: &str, to: &str) {
    let text = String::from_utf8(read(bench.path(name))).unwrap();
    assert!(text.contains(from), "{name} has no {from}: {text}");
    std::fs::write(bench.path(name), text.replace(from, to)).unwrap();
}

/// A record holds parameters, which do not tell one p from another.
#[test]
fn a_config_that_did_not_make_the_checkpoints() {
    let bench = Bench::new();
    let result = bench.result(&train("--steps 4 --norm prms --partial 0.5 --out run"));
    for (from, to, parts) in [
        (
            "\"partial\": 0.5",
            "\"partial\": 0.25",
            ["--partial 0.25", "made with 0.5"],
        ),
        (
            "\"norm\": \"prms\"",
            "\"norm\": \"rms\"",
            ["--norm rms", "made with prms"],
        ),
        ("\"heads\": 2", "\"heads\": 4", ["--heads 4", "made with 2"]),
        (
            "\"d-model\": 16",
            "\"d-model\": 32",
            ["--d-model 32", "made with 16"],
        ),
        (
            "\"qk-norm\": false",
            "\"qk-norm\": true",
            ["--qk-norm true", "made with false"],
        ),
    ] {
        replace(&bench, "run/config.json", from, to);
        bench.refused("generate --run run", 2, &parts);
        bench.refused("train --out run --resume", 2, &parts);
        replace(&bench, "run/config.json", to, from);
    }
    assert_eq!(bench.result("train --out run --resume"), result);

    // With the config of both changed, the parameters themselves do not fit.
    for name in ["run/config.json", "run/checkpoints/config.json"] {
        replace(&bench, name, "\"d-model\": 16", "\"d-model\": 32");
    }
    bench.refused("generate --run run", 1, &["cannot load", "model-4.bpk"]);
    std::fs::remove_file(bench.path("run/checkpoints/config.json")).unwrap();
    bench.refused(
        "generate --run run",
        2,
        &["checkpoints/config.json is missing"],
    );
}

#[test]
fn a_text_that_changed_between_two_halves_of_a_run() {
    let bench = Bench::new();
    let whole = bench.result(&train("--steps 400 --out whole"));
    bench.killed(&train("--steps 400 --out run"), "run");
    let text = read(bench.path("text"));
    let mut longer = text.clone();
    longer.push(b'!');
    let mut other = text.clone();
    other[7] ^= 1;
    for changed in [longer, other, text[..text.len() - 1].to_vec()] {
        std::fs::write(bench.path("text"), changed).unwrap();
        bench.refused(
            "train --out run --resume",
            2,
            &["--text text", "not the text"],
        );
    }
    std::fs::remove_file(bench.path("text")).unwrap();
    bench.refused(
        "train --out run --resume",
        2,
        &["--text text", "cannot be read"],
    );
    // The model needs no text, and the run goes on where it finds its own again.
    let generated = bench.run("generate --run run --tokens 5");
    assert!(generated.status.success(), "{generated:?}");
    std::fs::write(bench.path("text"), text).unwrap();
    assert_eq!(bench.result("train --out run --resume"), whole);
}
