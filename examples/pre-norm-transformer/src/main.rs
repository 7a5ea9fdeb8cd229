//! The program `pre-norm-transformer`.

use std::process::ExitCode;

fn main() -> ExitCode {
    pre_norm_transformer::run()
}
