"""PyTorch's rms_norm and layer_norm on the processor, timed as the benchmarks time their calls.

    python3 benches/peers/torch_norms.py > benches/results/torch.csv

Forward without gradients, and training: forward, backward of ones, the gradients of x and of all
parameters. A turn is one call that does not count and four that do, and the contenders take turns;
told is the median of the turns' medians. As many threads as there are processors.

glibc gives large buffers back to the kernel when they are freed; to let it keep them, as the
benchmarks' allocator does, run this with

    MALLOC_MMAP_THRESHOLD_=8589934592 MALLOC_TRIM_THRESHOLD_=8589934592
"""

import os
import statistics
import sys
import time

import torch
import torch.nn.functional as F

SHAPES = [(1, 4096), (64, 1024), (2048, 1024), (4096, 4096), (16384, 1024), (131072, 128)]
EPSILON = 1e-5
SECONDS = 2.0
TURNS = 5
CALLS = 4


def turn(call):
    call()
    times = []
    for _ in range(CALLS):
        start = time.perf_counter()
        result = call()
        del result
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def contest(contenders):
    turns = {name: [] for name in contenders}
    start = time.perf_counter()
    while len(next(iter(turns.values()))) < TURNS or time.perf_counter() - start < SECONDS:
        for name, call in contenders.items():
            turns[name].append(turn(call))
    return {name: statistics.median(times) for name, times in turns.items()}


def forward(x, weight, bias):
    row_len = x.shape[1]
    return {
        "torch rms_norm": lambda: F.rms_norm(x, (row_len,), weight, EPSILON),
        "torch layer_norm": lambda: F.layer_norm(x, (row_len,), weight, bias, EPSILON),
        "torch copy": lambda: x.clone(),
    }


def training(x, weight, bias):
    row_len = x.shape[1]
    x = x.clone().requires_grad_()
    weight = weight.clone().requires_grad_()
    bias = bias.clone().requires_grad_()
    ones = torch.ones_like(x)

    def rms_norm():
        y = F.rms_norm(x, (row_len,), weight, EPSILON)
        return torch.autograd.grad(y, [x, weight], ones)

    def layer_norm():
        y = F.layer_norm(x, (row_len,), weight, bias, EPSILON)
        return torch.autograd.grad(y, [x, weight, bias], ones)

    return {"torch rms_norm": rms_norm, "torch layer_norm": layer_norm}


def main():
    torch.set_num_threads(os.cpu_count())
    torch.manual_seed(1)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads", file=sys.stderr)
    print("kind,pass,rows,row_len,contender,micros")
    for rows, row_len in SHAPES:
        x = torch.randn(rows, row_len)
        weight, bias = torch.ones(row_len), torch.zeros(row_len)
        with torch.no_grad():
            results = {"forward": contest(forward(x, weight, bias))}
        results["training"] = contest(training(x, weight, bias))
        for what, times in results.items():
            for name, seconds in times.items():
                print(f"f32,{what},{rows},{row_len},{name},{1e6 * seconds:.2f}", flush=True)


main()
