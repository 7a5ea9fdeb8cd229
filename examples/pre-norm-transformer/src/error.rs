//! What can go wrong for the person at the terminal, and the exit code that says so.

use std::io;
use std::path::Path;
use std::process::ExitCode;

/// An error told in one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An option, or a combination of options, that cannot be honoured. Nothing was written.
    #[error("{0}")]
    Usage(String),
    /// A file or folder that could not be read or written.
    #[error("cannot {action} {path}: {source}")]
    File {
        action: &'static str,
        path: String,
        source: io::Error,
    },
    /// A checkpoint or a training that failed.
    #[error("{0}")]
    Training(String),
}

impl Error {
    /// A refused value of an option: `--steps 0: must be at least 1`.
    pub fn option(
        option: &str,
        value: impl std::fmt::Display,
        reason: impl std::fmt::Display,
    ) -> Self {
        Self::Usage(format!("--{option} {value}: {reason}"))
    }

    /// Wraps an I/O error with what was being done to which path.
    pub fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }

    /// 2 for a wrong command line, 1 for everything else.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::File { .. } | Self::Training(_) => ExitCode::FAILURE,
        }
    }
}
