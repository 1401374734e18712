# SPDX-License-Identifier: Apache-2.0
"""What a decode call costs its caller's thread from Python, eager: median of many calls with few in
the queue. On a GPU beside PyTorch's cuDNN, on the same tensors. Without one, on a CPU and the
smallest tensors: then nearly all of it is what lies around the kernel.

    python3 tools/host_cost.py [--calls 10000] [--device cuda|cpu]
"""

import argparse
import contextlib
import statistics
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

CALLS_IN_QUEUE = 64  # between two waits: the driver's queue never makes a call wait
WARM = 512  # calls that are not timed: they choose kernels and load their code
PAGE = 64


def host_microseconds(call, calls, wait):
    """Median host time of `call`, and the times of the fastest and slowest twentieth."""
    times = []
    for i in range(calls + WARM):
        begun = time.perf_counter_ns()
        call()
        ended = time.perf_counter_ns()
        if i >= WARM:
            times.append((ended - begun) / 1e3)
        if i % CALLS_IN_QUEUE == CALLS_IN_QUEUE - 1:
            wait()
    times.sort()
    return statistics.median(times), times[len(times) // 20], times[-len(times) // 20]


def contenders(device, batch, length, heads_q, heads_kv, headdim):
    """Calls by name, over the same bf16 cache, contiguous or cut into pages."""
    import raceline

    def normal(*shape):
        return torch.randn(*shape, dtype=torch.bfloat16, device=device)

    q = normal(batch, 1, heads_q, headdim)
    k, v = normal(batch, length, heads_kv, headdim), normal(batch, length, heads_kv, headdim)
    page = min(PAGE, length)
    pages = [x.view(-1, page, heads_kv, headdim) for x in (k, v)]
    table = torch.arange(batch * length // page, dtype=torch.int32, device=device).view(batch, -1)
    lengths = torch.full((batch,), length, dtype=torch.int32, device=device)
    heads_first = [x.transpose(1, 2) for x in (q, k, v)]
    raceline.decode(q, k, v)  # registers the operator
    operator = torch.ops.raceline.decode
    nothing = [None] * 6 + [False] + [None] * 3 + [False] + [None] * 2  # of the operator's schema

    def paged():
        return raceline.decode(q, *pages, block_table=table, seqlens=lengths, max_seqlen=length)

    def cudnn():
        return torch.nn.functional.scaled_dot_product_attention(*heads_first, enable_gqa=True)

    return {
        "raceline.decode": lambda: raceline.decode(q, k, v),
        "raceline.decode in pages": paged,
        "torch.ops.raceline.decode": lambda: operator(q, k, v, *nothing),
        **({"PyTorch, cuDNN": cudnn} if device == "cuda" else {}),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, default=10000)
    parser.add_argument("--device", choices=("cuda", "cpu"),
                        default="cuda" if torch.cuda.is_available() else "cpu")
    asked = parser.parse_args()
    on_gpu = asked.device == "cuda"
    sizes = ((1, 1024, 32, 8, 128), (8, 512, 32, 8, 128)) if on_gpu else ((1, 1, 1, 1, 8),)
    wait = torch.cuda.synchronize if on_gpu else lambda: None
    peer = sdpa_kernel(SDPBackend.CUDNN_ATTENTION) if on_gpu else contextlib.nullcontext()
    with torch.inference_mode(), peer:
        for size in sizes:
            for name, call in contenders(asked.device, *size).items():
                median, low, high = host_microseconds(call, asked.calls, wait)
                print(f"{size[0]}x{size[1]}: {name}: host time of a call {median:.2f} us in the "
                      f"median (5 %: {low:.2f}, 95 %: {high:.2f}), {asked.calls} calls", flush=True)


if __name__ == "__main__":
    main()
