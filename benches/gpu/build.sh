#!/usr/bin/env bash
# Builds the program that run.sh runs on another machine: benches/gpu/gpu.xz.
#
# That machine needs an NVIDIA driver and glibc 2.36 or newer (no older than this machine's, whatever
# that is); no CUDA toolkit, no Rust, no network.
set -euo pipefail
cd "$(dirname "$0")/../.."

features=${FEATURES:-cuda}
cargo build --release -p fused-norm-benches --features "$features" --bin gpu
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
strip -o benches/gpu/gpu "$target/release/gpu"
xz --force --keep --threads=0 benches/gpu/gpu
ls -l benches/gpu/gpu benches/gpu/gpu.xz
