"""RMSNorm and LayerNorm of PyTorch, timed as the program times its own calls.

Arguments: seconds a line, seconds in all, then rows,row_len,kind of every shape.
Prints contender,parameters,pass,kind,rows,row_len,seconds,spread.
"""

import math
import sys
import time

try:
    import torch
except ImportError:
    print("skipped: python3 has no torch")
    sys.exit(0)
if not torch.cuda.is_available():
    print("skipped: torch sees no GPU")
    sys.exit(0)

import torch.nn.functional as F

LINE_SECONDS = float(sys.argv[1])
UNTIL = time.perf_counter() + float(sys.argv[2])
SHAPES = [shape.split(",") for shape in sys.argv[3:]]
KINDS = {"f32": torch.float32, "bf16": torch.bfloat16}
EPSILON = 1e-5
BATCHES = 5
BATCH_SECONDS = 2e-3
ROTATED_BYTES = 128 << 20
ROTATED = 8


def batch(call, calls):
    torch.cuda.synchronize()
    kept = []
    start = time.perf_counter()
    for number in range(calls):
        kept.append(call(number))
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / calls


def measure(call, size):
    """Median seconds of a call, and the distance of the quartiles as a part of it."""
    for _ in range(3):
        batch(call, 1)
    fitting = torch.cuda.mem_get_info()[1] // 16 // size
    most = max(1, min(1000, fitting))
    calls = 1
    a_call = batch(call, calls)
    while True:
        wanted = max(1, min(most, math.ceil(1.1 * BATCH_SECONDS / a_call)))
        if wanted <= calls:
            break
        calls = wanted
        batch(call, calls)
        a_call = batch(call, calls)
    times = []
    start = time.perf_counter()
    while len(times) < BATCHES or time.perf_counter() - start < LINE_SECONDS:
        times.append(batch(call, calls))
    times.sort()
    quantile = lambda at: times[round((len(times) - 1) * at)]
    return quantile(0.5), (quantile(0.75) - quantile(0.25)) / quantile(0.5)


def lines(rows, row_len, dtype):
    """Contender, parameters, pass, call."""
    size = rows * row_len * dtype.itemsize
    rotated = max(1, min(ROTATED, math.ceil(ROTATED_BYTES / size)))
    make = lambda: torch.randn(rows, row_len, device="cuda").to(dtype)
    xs = [make() for _ in range(rotated)]
    yield "torch copy", 0, "forward", lambda i: xs[i % rotated] * 1.5

    weight = torch.ones(row_len, device="cuda", dtype=dtype)
    bias = torch.zeros(row_len, device="cuda", dtype=dtype)
    norms = [
        ("torch rms_norm", lambda x, w: F.rms_norm(x, (row_len,), w[0], EPSILON), [weight]),
        ("torch layer_norm", lambda x, w: F.layer_norm(x, (row_len,), *w, EPSILON), [weight, bias]),
    ]
    dys = [make() for _ in range(rotated)]
    tracked = [x.detach().requires_grad_() for x in xs]
    for name, norm, parameters in norms:
        yield name, len(parameters), "forward", lambda i: norm(xs[i % rotated], parameters)

        learnt = [p.clone().requires_grad_() for p in parameters]
        ys = [norm(x, learnt) for x in tracked]

        def backward(i):
            i = i % rotated
            return torch.autograd.grad(ys[i], [tracked[i], *learnt], dys[i], retain_graph=True)

        yield name, len(parameters), "backward", backward

        def training(i):
            x = tracked[i % rotated]
            return torch.autograd.grad(norm(x, learnt), [x, *learnt], dys[i % rotated])

        yield name, len(parameters), "training", training


def main():
    print(f"remark: torch {torch.__version__}, CUDA {torch.version.cuda}", flush=True)
    late = 0
    for rows, row_len, kind in SHAPES:
        dtype = KINDS[kind]
        if time.perf_counter() > UNTIL:
            late += 1
            continue
        for name, parameters, what, call in lines(int(rows), int(row_len), dtype):
            if what == "forward":
                with torch.no_grad():
                    result = measure(call, int(rows) * int(row_len) * dtype.itemsize)
            else:
                result = measure(call, int(rows) * int(row_len) * dtype.itemsize)
            seconds, spread = result
            fields = (name, parameters, what, kind, rows, row_len, seconds, spread)
            print(*fields, sep=",", flush=True)
        torch.cuda.empty_cache()
    if late:
        print(f"remark: torch: {late} shapes not measured: out of time")


main()
