#!/usr/bin/env bash
# Verifies and measures on a machine with an NVIDIA GPU: benches/gpu/run.sh [check|table] [--quick]
#
# Runs the program that build.sh has made beside this file. Needs an NVIDIA driver, glibc 2.36 or
# newer, libstdc++ of GCC 12 or newer, zlib and zstd; and nvvm/libdevice, of the CUDA toolkit or beside this
# file. PyTorch is measured too if `python3` has it. With OUT set the answer is also in $OUT/gpu.md.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

if [[ ! -x $here/gpu || $here/gpu.xz -nt $here/gpu ]]; then
    if [[ ! -f $here/gpu.xz ]]; then
        echo "$here/gpu.xz is not there: make it with build.sh" >&2
        exit 1
    fi
    if command -v xz >/dev/null; then
        xz --decompress --stdout "$here/gpu.xz" >"$here/gpu.new"
    else
        python3 -c 'import lzma, shutil, sys
shutil.copyfileobj(lzma.open(sys.argv[1]), open(sys.argv[2], "wb"))' "$here/gpu.xz" "$here/gpu.new"
    fi
    chmod +x "$here/gpu.new"
    mv "$here/gpu.new" "$here/gpu"
fi
if [ -f "$here/nvvm/libdevice/libdevice.10.bc" ]; then
    export CUDA_PATH=${CUDA_PATH:-$here}
fi
exec "$here/gpu" "$@"
