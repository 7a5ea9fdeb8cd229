#!/usr/bin/env bash
# Fuzzes the kernels on the CPU: run.sh [SECONDS]. Ends non-zero at the first input that crashes,
# panics or gives a wrong value, and leaves that input in fuzz/artifacts.
#
# Needs a nightly compiler; without one it says so in a line and ends with 3. These are the flags of
# cargo-fuzz, which need not be installed.
set -euo pipefail
cd "$(dirname "$0")"

seconds=${1:-120}
target=x86_64-unknown-linux-gnu
if ! cargo +nightly --version > /dev/null 2>&1; then
    echo 'fuzzing: left out, as there is no nightly compiler' >&2
    exit 3
fi

export CARGO_TARGET_DIR=${FUZZ_TARGET_DIR:-$HOME/.cache/burn-fused-norm/fuzz}
export RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Cllvm-args=-simplifycfg-branch-fold-threshold=0 \
-Zsanitizer=address -Ccodegen-units=1"
cargo +nightly build --release --target "$target" --bin kernels

# New inputs go to a folder of their own: the corpus stays small.
found=$CARGO_TARGET_DIR/corpus
mkdir -p "$found" artifacts corpus
exec "$CARGO_TARGET_DIR/$target/release/kernels" -max_total_time="$seconds" -max_len=2048 -len_control=0 \
    -rss_limit_mb=4096 -timeout=20 -artifact_prefix=artifacts/ -print_final_stats=1 "$found" corpus
