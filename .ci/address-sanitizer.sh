#!/usr/bin/env bash
# The kernels' tests on the CPU with every load and store checked against what was allocated.
#
# Arguments go to `cargo test`; without any, all tests but those in the documentation run.
#
# Needs a nightly compiler; without one it says so in a line and ends with 3. Keeps a target folder of
# its own, as nothing that is built without the instrumentation can be used.
set -euo pipefail
cd "$(dirname "$0")/.."

target=x86_64-unknown-linux-gnu
if ! cargo +nightly --version > /dev/null 2>&1; then
    echo 'address sanitizer: left out, as there is no nightly compiler' >&2
    exit 3
fi
if [ "$(rustc +nightly -vV | sed -n 's/^host: //p')" != "$target" ]; then
    echo "address sanitizer: left out, as this is not $target" >&2
    exit 3
fi

[ $# -gt 0 ] || set -- --lib --tests
export CARGO_TARGET_DIR=${ASAN_TARGET_DIR:-$HOME/.cache/burn-fused-norm/asan}
export RUSTFLAGS=-Zsanitizer=address
# The kernels are compiled for several instruction sets each, for minutes at their usual level. At 1
# every access is still there, and blocks are copied as wide as they are.
cargo +nightly test -p fused-norm-kernels --target "$target" \
    --config 'profile.dev.package.fused-norm-kernels.opt-level=1' "$@"
