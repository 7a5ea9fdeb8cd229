//! Verifies and measures the CUDA kernels on a machine that has an NVIDIA GPU and little else: no
//! network, no toolchain.
//!
//! `benches/gpu/build.sh` makes the program, `benches/gpu/run.sh` runs it there.
//!
//! | file | question it answers |
//! |---|---|
//! | `check` | is every routine right on every case of the catalogue? |
//! | `variants` | are the variants right, and rows side by side? |
//! | `huge` | and beyond 2³¹ elements? |
//! | `shapes` | what is measured? |
//! | `contenders` | what is it compared with, through Burn? |
//! | `kernels` | what do the kernels take without Burn? |
//! | `timing` | how is a call timed? |
//! | `torch` | what does PyTorch take, if it is there? |
//! | `table` | what was measured? |
//! | `device`, `fill`, `output` | which device, what is in its buffers, where does the answer go? |

mod check;
mod contenders;
mod device;
mod fill;
mod huge;
mod kernels;
mod output;
mod shapes;
mod table;
mod timing;
mod torch;
mod variants;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};

use device::Gpu;
use output::Output;
use table::Table;

/// Verifies and measures burn-fused-norm on an NVIDIA GPU. Ends with 1 if anything failed.
#[derive(Parser)]
#[command(name = "gpu")]
pub struct Cli {
    /// Both if left out.
    #[command(subcommand)]
    only: Option<Only>,

    /// Fewer shapes, less time for each
    #[arg(long, global = true)]
    quick: bool,

    /// Time that a line of the table is measured for, after its warm-up
    #[arg(long, global = true, default_value_t = 0.04, value_name = "SECONDS")]
    seconds: f64,

    /// Time after which no further case is checked; what is left counts as not passed
    #[arg(long, global = true, default_value_t = 110, value_name = "SECONDS")]
    check_seconds: u64,

    /// Time after which no further line of the table is measured
    #[arg(long, global = true, default_value_t = 150, value_name = "SECONDS")]
    table_seconds: u64,

    /// Of it, the time that PyTorch may take; 0 leaves it out
    #[arg(long, global = true, default_value_t = 40, value_name = "SECONDS")]
    torch_seconds: u64,

    /// Another CubeCL device, to try the program without a GPU
    #[arg(long, global = true, hide = true, default_value = "cuda")]
    device: String,

    /// Elements of a tensor at most, to try the program without a GPU
    #[arg(long, global = true, hide = true)]
    max_elements: Option<usize>,
}

#[derive(Subcommand, Clone, Copy, PartialEq)]
enum Only {
    /// Hold every routine to the oracle, also beyond 2^31 elements
    Check,
    /// Measure against Burn's layers, a copy and PyTorch
    Table,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let gpu = match Gpu::open(&cli.device) {
        Ok(gpu) => gpu,
        Err(error) => {
            eprintln!("gpu: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut output = Output::new();
    output.section(&format!("burn-fused-norm on {}", gpu.title()));
    for line in device::circumstances() {
        output.line(&line);
    }
    let start = Instant::now();
    let mut passed = true;
    if cli.only != Some(Only::Table) {
        output.section("Check");
        let until = Instant::now() + Duration::from_secs(cli.check_seconds);
        passed &= check::run(&gpu, &mut output, until);
    }
    if cli.only != Some(Only::Check) {
        output.section("Table");
        passed &= Table::new(&gpu, &cli).measure(&mut output);
    }
    if cli.only != Some(Only::Table) {
        // Last, as a GPU that faults on one of these addresses answers nothing more.
        output.section("Check beyond 2^31 elements");
        passed &= huge::run(&gpu, &mut output, cli.max_elements);
    }
    let verdict = if passed { "passed" } else { "FAILED" };
    output.section("Result");
    output.line(&format!(
        "{verdict} in {:.0} s",
        start.elapsed().as_secs_f64()
    ));
    ExitCode::from(u8::from(!passed))
}

/// What `run` returns, or the message of its panic.
fn caught<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(text.unwrap_or_else(|| "a panic without a message".into()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
