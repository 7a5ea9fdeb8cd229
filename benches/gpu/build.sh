#!/usr/bin/env bash
# Builds the program that run.sh runs on another machine: benches/gpu/gpu.xz.
#
# There it needs an NVIDIA driver, glibc 2.36 or newer (that of the building machine or newer), libstdc++ of
# GCC 12 or newer, zlib and zstd; no CUDA toolkit, no Rust, no network.
set -euo pipefail
cd "$(dirname "$0")/../.."

cargo build --release -p fused-norm-benches --features "${FEATURES:-cuda}" --bin gpu
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
strip -o benches/gpu/gpu "$target/release/gpu"
xz --force --keep --threads=0 benches/gpu/gpu
ls -l benches/gpu/gpu benches/gpu/gpu.xz
