//! The program under test, on a model that trains in a second.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A folder with a text to learn from, and commands that run in it.
pub struct Bench(TempDir);

impl Bench {
    /// Creates the folder; its text holds bytes that are no UTF-8.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let line = b"pack my box with \xff five dozen \xfe liquor jugs; ";
        std::fs::write(folder.path().join("text"), line.repeat(60)).expect("a writable folder");
        Self(folder)
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The program with these arguments, not yet started.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("pre-norm-transformer"));
        command
            .current_dir(self.0.path())
            .args(arguments.split_whitespace());
        command
    }

    /// Runs the program with these arguments.
    pub fn run(&self, arguments: &str) -> Output {
        self.command(arguments)
            .output()
            .expect("the program starts")
    }

    /// Runs the program, which must succeed, and returns its last line without the time.
    #[track_caller]
    pub fn result(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments}: {output:?}");
        let text = String::from_utf8(output.stdout).expect("text");
        let last = text.lines().last().unwrap_or_default();
        let (figures, time) = last.rsplit_once(" ms_per_step=").expect("a result line");
        assert!(
            figures.starts_with("result: valid_bits_per_byte="),
            "{last}"
        );
        assert!(time.parse::<f64>().is_ok(), "{last}");
        figures.into()
    }

    /// Runs the program, which must refuse with one line that has all of `parts`.
    #[track_caller]
    pub fn refused(&self, arguments: &str, exit_code: i32, parts: &[&str]) {
        one_line(self.run(arguments), arguments, exit_code, parts);
    }

    /// Trains until the third checkpoint and is killed there.
    #[track_caller]
    pub fn killed(&self, arguments: &str, out: &str) {
        let mut command = self.command(arguments);
        let mut child = command.stdout(Stdio::null()).spawn().expect("it starts");
        let third = self.path(out).join("checkpoints/model-3.bpk");
        let deadline = Instant::now() + Duration::from_secs(60);
        while !third.exists() && Instant::now() < deadline {
            sleep(Duration::from_millis(1));
        }
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        let sample = self.path(out).join("sample.txt");
        assert!(!sample.exists(), "killed too late");
    }
}

/// The program has refused, with one line that has all of `parts`.
#[track_caller]
pub fn one_line(output: Output, arguments: &str, exit_code: i32, parts: &[&str]) {
    let line = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(exit_code), "{arguments}: {line}");
    assert_eq!(line.lines().count(), 1, "{arguments}: {line}");
    for part in parts {
        assert!(line.contains(part), "{arguments}: no {part:?} in {line}");
    }
}

/// `train` on the text of the folder, with a model that trains in a second.
pub fn train(more: &str) -> String {
    format!(
        "train --text text --d-model 16 --layers 1 --heads 2 --context 16 --batch 4 --lr 0.01 {more}"
    )
}

/// The content of a file.
#[track_caller]
pub fn read(path: impl AsRef<Path>) -> Vec<u8> {
    let path = path.as_ref();
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
