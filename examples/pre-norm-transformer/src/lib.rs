//! A byte-level pre-norm Transformer, trained with burn-fused-norm and Burn's own training stack.
//!
//! `block.rs`, `norm.rs` and `rotary.rs` are the model to copy; the other files train it.

mod bigram;
pub mod block;
mod checkpoint;
mod cli;
mod config;
mod corpus;
mod counted;
mod curve;
mod data;
mod device;
mod error;
mod evaluate;
mod generate;
mod learner;
mod metric;
mod model;
pub mod norm;
pub mod optimizer;
mod plot;
mod progress;
pub mod rotary;
mod run_folder;
mod schedule;
mod text;
mod train;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use cli::{Cli, Command};

/// The program: parses the command line and runs the command. The exit code says how it ended.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
            _ => {
                eprintln!("{}", cli::one_line(&error));
                return ExitCode::from(2);
            }
        },
    };
    let done = match cli.command {
        Command::Train(args) => train::run(&args),
        Command::Generate(args) => generate::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            error.exit_code()
        }
    }
}
