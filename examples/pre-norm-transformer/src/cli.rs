//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

use burn_fused_norm::RmsNormConfig;
use clap::{Args, Parser, Subcommand};

use crate::config::RunConfig;
use crate::device::DeviceName;
use crate::norm::NormKind;

/// A byte-level pre-norm Transformer that trains with burn-fused-norm.
#[derive(Debug, Parser)]
#[command(version)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train a model and write checkpoints, curves and a sample to a folder
    ///
    /// A folder that holds a finished run of the same options is written anew, and so is a run without a
    /// checkpoint. One that holds an unfinished run, or a run of other options, is left alone: add
    /// --resume, or choose another.
    Train(TrainArgs),
    /// Print text from the last checkpoint of a run
    Generate(GenerateArgs),
}

/// Options of `train`. Those of the run have their defaults in [`RunConfig`].
#[derive(Debug, Args)]
pub struct TrainArgs {
    /// File of any bytes to learn from; may be repeated [default: this repository's documentation]
    #[arg(long, value_name = "FILE")]
    pub text: Vec<PathBuf>,
    /// Folder of the run [default: artifacts/NORM]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Norm before each branch of a block and at the end [default: rms]
    #[arg(long, value_name = "KIND")]
    pub norm: Option<NormKind>,
    /// Share of the features that the statistic of prms reads, above 0 and at most 1; with --qk-norm of
    /// those of a head too, which are d_model / heads [default: 0.0625]
    #[arg(long, value_name = "P", value_parser = share, allow_negative_numbers = true)]
    pub partial: Option<f64>,
    /// Add a branch and normalize the sum in one operation, as rms and prms can; the numbers are the
    /// same [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub fuse_add: Option<bool>,
    /// Normalize the heads of queries and keys [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub qk_norm: Option<bool>,
    /// Backend to run on [default: flex]
    #[arg(long, value_name = "NAME")]
    pub device: Option<DeviceName>,
    /// Optimizer steps [default: 1400]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub steps: Option<usize>,
    /// Windows of a step [default: 8]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub batch: Option<usize>,
    /// Bytes of a window [default: 64]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub context: Option<usize>,
    /// Features of the residual stream [default: 128]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub d_model: Option<usize>,
    /// Number of blocks [default: 4]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub layers: Option<usize>,
    /// Attention heads of a block [default: 4]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub heads: Option<usize>,
    /// Peak of the learning rate, above 0 and at most 1 [default: 0.0015]
    #[arg(long, value_name = "X", value_parser = share, allow_negative_numbers = true)]
    pub lr: Option<f64>,
    /// Weight decay of the matrices; norm parameters have none [default: 0.1]
    #[arg(long, value_name = "X", value_parser = not_negative, allow_negative_numbers = true)]
    pub weight_decay: Option<f64>,
    /// Share of each branch's output that training drops, from 0 to below 1 [default: 0.2]
    #[arg(long, value_name = "P", value_parser = dropout, allow_negative_numbers = true)]
    pub dropout: Option<f64>,
    /// Seed of the weights, the order of the data and the dropout [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Continue the run in the folder from its last checkpoint, with the options it was started with
    #[arg(long)]
    pub resume: bool,
}

impl TrainArgs {
    /// `config`, with the options that were given in place of its own.
    pub fn apply_to(&self, config: RunConfig) -> RunConfig {
        let norm = self.norm.unwrap_or(config.norm);
        let recommended = (norm == NormKind::Prms).then_some(RmsNormConfig::RECOMMENDED_PARTIAL);
        let mut text = config.text;
        if !self.text.is_empty() {
            text.files = self.text.clone();
        }
        RunConfig {
            norm,
            partial: self.partial.or(config.partial).or(recommended),
            fuse_add: self.fuse_add.unwrap_or(config.fuse_add),
            qk_norm: self.qk_norm.unwrap_or(config.qk_norm),
            d_model: self.d_model.unwrap_or(config.d_model),
            layers: self.layers.unwrap_or(config.layers),
            heads: self.heads.unwrap_or(config.heads),
            context: self.context.unwrap_or(config.context),
            steps: self.steps.unwrap_or(config.steps),
            batch: self.batch.unwrap_or(config.batch),
            lr: self.lr.unwrap_or(config.lr),
            weight_decay: self.weight_decay.unwrap_or(config.weight_decay),
            dropout: self.dropout.unwrap_or(config.dropout),
            seed: self.seed.unwrap_or(config.seed),
            text,
        }
    }
}

/// Options of `generate`.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// Folder of a run
    #[arg(long, value_name = "DIR")]
    pub run: PathBuf,
    /// Text to continue
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "\n",
        hide_default_value = true
    )]
    pub prompt: String,
    /// Bytes to generate
    #[arg(long, value_name = "N", default_value = "400", value_parser = positive, allow_negative_numbers = true)]
    pub tokens: usize,
    /// How freely to choose: 0 takes the likeliest byte, 1 follows the model
    #[arg(long, value_name = "T", default_value = "0.8", value_parser = not_negative, allow_negative_numbers = true)]
    pub temperature: f64,
    /// Seed of the choices
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        allow_negative_numbers = true
    )]
    pub seed: u64,
    /// Backend to run on [default: flex]
    #[arg(long, value_name = "NAME")]
    pub device: Option<DeviceName>,
}

fn positive(value: &str) -> Result<usize, String> {
    match parse(value)? {
        0 => Err("must be at least 1".into()),
        number => Ok(number),
    }
}

fn share(value: &str) -> Result<f64, String> {
    within(
        value,
        |number| number > 0.0 && number <= 1.0,
        "must be above 0 and at most 1",
    )
}

fn dropout(value: &str) -> Result<f64, String> {
    within(
        value,
        |number| (0.0..1.0).contains(&number),
        "must be from 0 to below 1",
    )
}

fn not_negative(value: &str) -> Result<f64, String> {
    within(
        value,
        |number| number >= 0.0 && number.is_finite(),
        "must be 0 or more",
    )
}

fn within(value: &str, inside: fn(f64) -> bool, rule: &str) -> Result<f64, String> {
    let number = parse(value)?;
    inside(number).then_some(number).ok_or_else(|| rule.into())
}

fn parse<T: FromStr<Err: ToString>>(value: &str) -> Result<T, String> {
    value.parse().map_err(|error: T::Err| error.to_string())
}

/// Clap's message in one line: without its usage, hints kept.
pub fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let kept = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
        .take_while(|line| !line.starts_with("Usage:"));
    kept.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_help_of_train_tells_the_defaults() {
        let command = Cli::command();
        let train = command.find_subcommand("train").unwrap();
        let defaults = serde_json::to_value(RunConfig::default()).unwrap();
        for (name, value) in defaults.as_object().unwrap() {
            if value.is_number() || value.is_boolean() {
                let of_name = |argument: &&clap::Arg| argument.get_long() == Some(name);
                let argument = train.get_arguments().find(of_name).unwrap();
                let help = argument.get_help().unwrap().to_string();
                let told = format!("[default: {value}]");
                assert!(help.ends_with(&told), "--{name}: no {told} in {help}");
            }
        }
    }
}
