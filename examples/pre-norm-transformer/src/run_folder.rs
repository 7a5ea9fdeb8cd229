//! The folder of a run: what is in it, and when it may be written.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::checkpoint::CheckpointFolder;
use crate::config::RunConfig;
use crate::error::Error;

/// What the run is, for people and for the next command.
const CONFIG: &str = "config.json";

/// The same, where it stays with the checkpoints.
const CONFIG_OF_CHECKPOINTS: &str = "checkpoints/config.json";

/// The folder that `--out` and `--run` name.
pub struct RunFolder(PathBuf);

impl RunFolder {
    /// The folder at `path`, which may not exist yet.
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// The path as the user gave it.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A file of the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The checkpoints of the run.
    pub fn checkpoints(&self) -> CheckpointFolder {
        CheckpointFolder::new(self.file("checkpoints"))
    }

    /// The config of the run, if there is a run.
    pub fn config(&self) -> Result<Option<RunConfig>, Error> {
        self.read_config(CONFIG)
    }

    fn read_config(&self, name: &str) -> Result<Option<RunConfig>, Error> {
        let path = self.file(name);
        let json = match fs::read(&path) {
            Ok(json) => json,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(Error::file("read", &path)(error)),
        };
        serde_json::from_slice(&json).map(Some).map_err(|error| {
            Error::Usage(format!(
                "{}: not a config of this program: {error}",
                path.display()
            ))
        })
    }

    /// The run to continue: its config and the last epoch of which there is a checkpoint.
    ///
    /// `option` is the one that asks for it.
    pub fn existing_run(&self, option: &str) -> Result<(RunConfig, usize), Error> {
        let path = self.0.display();
        let config = self.config()?.ok_or_else(|| {
            Error::Usage(format!(
                "{option}: no run in {path}: config.json is missing"
            ))
        })?;
        let epoch = self.checkpoints().last().ok_or_else(|| {
            Error::Usage(format!("{option}: the run in {path} has no checkpoint yet"))
        })?;
        self.check_made_with(&config, option)?;
        Ok((config, epoch))
    }

    /// Refuses checkpoints that another config made: what a record holds does not tell a norm of
    /// another kind, epsilon or p.
    fn check_made_with(&self, config: &RunConfig, option: &str) -> Result<(), Error> {
        let (path, copy) = (self.0.display(), CONFIG_OF_CHECKPOINTS);
        let made_with = self.read_config(copy)?.ok_or_else(|| {
            Error::Usage(format!(
                "{option}: the checkpoints in {path} do not say what made them: {copy} is missing"
            ))
        })?;
        match config.difference(&made_with) {
            None => Ok(()),
            Some((name, here, there)) => Err(Error::Usage(format!(
                "{option}: {path}/{CONFIG} has --{name} {here}, its checkpoints were made with {there}"
            ))),
        }
    }

    /// Refuses to put a new run in place of one that it could not stand for.
    ///
    /// A finished run of the same config may be replaced, for the new one will be the same.
    pub fn check_replaceable(&self, new: &RunConfig) -> Result<(), Error> {
        let refuse = |reason: String| Err(Error::option("out", self.0.display(), reason));
        let old = self.config()?;
        let Some(epoch) = self.checkpoints().last() else {
            return Ok(());
        };
        let Some(old) = old else {
            return refuse(
                "holds checkpoints without their config.json; choose another folder".into(),
            );
        };
        let (done, steps) = (old.schedule().steps_after(epoch), old.steps);
        if done < steps {
            return refuse(format!(
                "holds an unfinished run (step {done} of {steps}); continue it with --resume, or choose another folder"
            ));
        }
        match new.difference(&old) {
            None => Ok(()),
            Some((name, _, theirs)) => refuse(format!(
                "holds a finished run of another configuration (--{name} {theirs}); choose another folder"
            )),
        }
    }

    /// Creates the folder for a new run, without what an older one left.
    pub fn start(&self, config: &RunConfig) -> Result<(), Error> {
        let checkpoints = self.file("checkpoints");
        for name in ["metrics.csv", "loss.svg", "loss.png", "sample.txt", CONFIG] {
            let path = self.file(name);
            ignore_missing(fs::remove_file(&path)).map_err(Error::file("remove", &path))?;
        }
        ignore_missing(fs::remove_dir_all(&checkpoints))
            .map_err(Error::file("remove", &checkpoints))?;
        fs::create_dir_all(&checkpoints).map_err(Error::file("create", &checkpoints))?;
        let json = serde_json::to_string_pretty(config).expect("a config is plain data") + "\n";
        self.write(CONFIG_OF_CHECKPOINTS, json.as_bytes())?;
        self.write(CONFIG, json.as_bytes())
    }

    /// Writes a file of the folder.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.file(name);
        fs::write(&path, bytes).map_err(Error::file("write", &path))
    }
}

fn ignore_missing(result: std::io::Result<()>) -> std::io::Result<()> {
    match result {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(())
        }
        result => result,
    }
}
