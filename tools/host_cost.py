# SPDX-License-Identifier: Apache-2.0
"""What a decode call costs its caller's thread from Python: raceline and PyTorch's cuDNN, eager, on
the same tensors. Median of many calls with few in the queue. Needs a GPU.

    python3 tools/host_cost.py [--calls 10000]
"""

import argparse
import statistics
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

CALLS_IN_QUEUE = 64  # between two waits: the driver's queue never makes a call wait


def host_microseconds(call, calls):
    """Median host time of `call`, and the times of the fastest and slowest twentieth."""
    times = []
    for i in range(calls + CALLS_IN_QUEUE):
        begun = time.perf_counter_ns()
        call()
        ended = time.perf_counter_ns()
        if i >= CALLS_IN_QUEUE:  # the first ones choose kernels and load their code
            times.append((ended - begun) / 1e3)
        if i % CALLS_IN_QUEUE == CALLS_IN_QUEUE - 1:
            torch.cuda.synchronize()
    times.sort()
    return statistics.median(times), times[len(times) // 20], times[-len(times) // 20]


def contenders(batch, length):
    """Calls by name, over one contiguous bf16 cache: 32 query heads, 8 KV heads, head dim 128."""
    import raceline

    def normal(*shape):
        return torch.randn(*shape, dtype=torch.bfloat16, device="cuda")

    q = normal(batch, 1, 32, 128)
    k, v = normal(batch, length, 8, 128), normal(batch, length, 8, 128)
    heads_first = [x.transpose(1, 2) for x in (q, k, v)]

    def cudnn():
        return torch.nn.functional.scaled_dot_product_attention(*heads_first, enable_gqa=True)

    return {"raceline.decode": lambda: raceline.decode(q, k, v), "PyTorch, cuDNN": cudnn}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, default=10000)
    calls = parser.parse_args().calls
    with torch.inference_mode(), sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        for batch, length in ((1, 1024), (8, 512)):
            for name, call in contenders(batch, length).items():
                median, low, high = host_microseconds(call, calls)
                print(f"{batch}x{length}: {name}: host time of a call {median:.2f} us in the median "
                      f"(5 %: {low:.2f}, 95 %: {high:.2f}), {calls} calls", flush=True)


if __name__ == "__main__":
    main()
