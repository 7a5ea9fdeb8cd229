#!/usr/bin/env bash
# Puts ptxas and nvdisasm where GPU-less code-generation checks find them, from the wheels of the CUDA toolkit;
# and beside them the mathematical functions (nvvm/libdevice) that CubeCL links where CUDA_PATH says.
#   usage: cuda-binutils.sh          prints the folder that holds both; exit 1 where there are none
# Idempotent. PTX from CubeCL's LLVM compiler targets sm_90a on Hopper: assemble with -arch=sm_90a.
set -euo pipefail
root=${XDG_CACHE_HOME:-$HOME/.cache}/cuda-binutils
bin=$root/bin
libdevice=nvvm/libdevice/libdevice.10.bc
if [ ! -x "$bin/ptxas" ] || [ ! -x "$bin/nvdisasm" ] || [ ! -f "$root/$libdevice" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    python3 -m pip download -q --no-deps -d "$work" nvidia-cuda-nvcc nvidia-cuda-nvdisasm nvidia-nvvm >&2
    for wheel in "$work"/*.whl; do python3 -m zipfile -e "$wheel" "$work/x"; done
    mkdir -p "$bin"
    for tool in ptxas nvdisasm; do
        found=$(find "$work/x" -type f -name "$tool" | head -n 1)
        [ -n "$found" ] || { echo "cuda-binutils: no $tool in the wheels" >&2; exit 1; }
        install -m 755 "$found" "$bin/$tool"
    done
    found=$(find "$work/x" -type f -path "*/$libdevice" | head -n 1)
    [ -n "$found" ] || { echo "cuda-binutils: no $libdevice in the wheels" >&2; exit 1; }
    install -D -m 644 "$found" "$root/$libdevice"
fi
echo "$bin"
