#!/usr/bin/env bash
# Builds the program that run.sh runs on another machine: benches/gpu/gpu.xz.
#
# There it needs an NVIDIA driver, glibc 2.36 or newer (that of the building machine or newer), libstdc++ of
# GCC 12 or newer, zlib and zstd; no Rust, no network. Of the CUDA toolkit CubeCL links nvvm/libdevice into
# kernels with powers, such as those of Burn's own layers: a copy for machines without it is put beside the
# program, from CUDA_PATH, which .ci/cuda-binutils.sh can fill.
set -euo pipefail
cd "$(dirname "$0")/../.."

cargo build --release -p fused-norm-benches --features "${FEATURES:-cuda}" --bin gpu
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
strip -o benches/gpu/gpu "$target/release/gpu"
xz --force --keep --threads=0 benches/gpu/gpu
libdevice=nvvm/libdevice/libdevice.10.bc
for root in "${CUDA_PATH:-}" "${XDG_CACHE_HOME:-$HOME/.cache}/cuda-binutils" /usr/local/cuda; do
    if [ -f "$root/$libdevice" ]; then
        install -D -m 644 "$root/$libdevice" "benches/gpu/$libdevice"
        break
    fi
done
[ -f "benches/gpu/$libdevice" ] || echo "no $libdevice: the other machine needs one" >&2
ls -l benches/gpu/gpu benches/gpu/gpu.xz
