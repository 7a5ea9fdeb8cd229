#!/usr/bin/env bash
# Every number of docs/benchmarks.md: runs the benchmarks, then writes the page and the plots from their
# results.
#
#   benches/run.sh            Flex, NdArray and candle
#   FEATURES=cpu,wgpu benches/run.sh
#                             CubeCL devices too; `cpu` and `cuda` need what CubeCL's compiler needs
#   PYTHON=/path/to/python3   a Python that has torch; without one, PyTorch is left out
set -euo pipefail
cd "$(dirname "$0")/.."
features=${FEATURES:+$FEATURES,}peers
python=${PYTHON:-python3}
results=benches/results

bench() {
    cargo bench -p fused-norm-benches --features "$features" --bench "$1"
}
bench forward
bench training
bench train_step
bench variants
# What is not measured now is not told.
rm -f "$results/routines.csv" "$results/torch.csv"
case ,$features, in
    *,cpu,* | *,wgpu,* | *,cuda,*) bench routines ;;
    *) echo 'routines: left out, as there is no CubeCL device for them' ;;
esac
if "$python" -c 'import torch' 2> /dev/null; then
    MALLOC_MMAP_THRESHOLD_=8589934592 MALLOC_TRIM_THRESHOLD_=8589934592 \
        "$python" benches/peers/torch_norms.py > "$results/torch.csv.new"
    mv "$results/torch.csv.new" "$results/torch.csv"
else
    echo "PyTorch: left out, as $python has no torch"
fi
cargo run --release -p fused-norm-benches --features "$features" --bin report
