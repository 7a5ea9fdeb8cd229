#!/usr/bin/env bash
# Every number of README.md and docs/performance.md that needs no GPU: runs the benchmarks, then
# writes tables and plots from their results. About a quarter of an hour on two cores, once built.
#
#   benches/run.sh            Flex, NdArray and candle; and, where CubeCL's LLVM can be had and there
#                             is a Vulkan driver, `FEATURES=cpu,wgpu` (see below)
#   FEATURES=cpu,wgpu benches/run.sh
#   PYTHON=/path/to/python3   a Python that has torch; without one, PyTorch is left out
set -euo pipefail
cd "$(dirname "$0")/.."
features=${FEATURES:+$FEATURES,}peers
python=${PYTHON:-python3}

bench() {
    cargo bench -p fused-norm-benches --features "$features" --bench "$1"
}
bench forward
bench training
bench train_step
if [ -n "${FEATURES:-}" ]; then
    bench routines
fi
if "$python" -c 'import torch' 2> /dev/null; then
    MALLOC_MMAP_THRESHOLD_=8589934592 MALLOC_TRIM_THRESHOLD_=8589934592 \
        "$python" benches/peers/torch_norms.py > benches/results/torch.csv
else
    echo "PyTorch: left out, as $python has no torch"
fi
cargo run --release -p fused-norm-benches --features "$features" --bin report
