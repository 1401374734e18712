#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What holds large products of cuBLASLt down: the kernel that PyTorch's library takes, its cycles and pipes by ncu, its
time alone and in a lasting row, and the clock and watts of that row. One line a product, tab-separated, on the output. Of
short products clock and watts are read when the row has ended: they show the highest clock.

    python3 tools/device_products.py [--fp32] [--ncu]

--fp32: products of few rows in fp32 instead of large ones in bf16. With --ncu it is the child that ncu profiles.
"""
import csv
import io
import shutil
import subprocess
import sys
import time

import torch

SHAPES = [(m, n, k) for m in (1024, 2048, 4096, 8192)
          for n, k in ((4096, 4096), (6144, 4096), (28672, 4096), (4096, 14336), (1024, 14336), (14336, 1024), (2048, 2048))]
FP32 = "--fp32" in sys.argv
if FP32:
    SHAPES = [(m, n, k) for i, m in enumerate((2, 3, 5, 8, 11, 16, 24, 33, 48, 62, 90, 128, 180, 256, 384, 512, 900))
              for n, k in (((1024, 14336), (2048, 2048), (6144, 1024)), ((2048, 11008), (1024, 4096), (14336, 1024)))[i % 2]]
TYPE = torch.float32 if FP32 else torch.bfloat16

METRICS = {
    "gpu__time_duration.sum": "ncu_ns",
    "sm__cycles_elapsed.max": "cycles",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": "tensor_pct",
    "sm__cycles_active.avg": "active",
    "lts__t_bytes.sum": "l2_bytes",
    "dram__bytes_read.sum": "dram_read",
    "dram__bytes_write.sum": "dram_write",
    "launch__grid_size": "grid",
    "launch__block_size": "threads",
    "smsp__inst_executed.sum": "warp_instructions",
    "launch__cluster_size": "cluster",
}


def matrices(m, n, k):
    torch.manual_seed(m + n + k)
    return torch.randn(m, k, device="cuda", dtype=TYPE), torch.randn(n, k, device="cuda", dtype=TYPE)


def child():
    for m, n, k in SHAPES:
        x, w = matrices(m, n, k)
        torch.nn.functional.linear(x, w)
        torch.cuda.synchronize()


def profiled():
    """By ncu: {shape: {name: value}}, in the order of SHAPES."""
    ncu = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    done = subprocess.run([ncu, "--clock-control", "none", "--csv", "--page", "raw", "--kernel-name", "regex:nvjet|gemm|cutlass|splitK|gemv",
                           "--metrics", ",".join(METRICS), sys.executable, __file__, "--ncu", *(["--fp32"] if FP32 else [])], capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(io.StringIO("\n".join(lines))))[1:]  # the first row holds units
    print(f"# ncu: exit {done.returncode}, {len(rows)} kernels; {done.stderr.strip()[-200:]}", file=sys.stderr)
    return rows


def clocks():
    text = subprocess.run(["nvidia-smi", "--query-gpu=clocks.sm,power.draw.instant", "--format=csv,noheader,nounits", "-i", "0"],
                          capture_output=True, text=True).stdout.strip()
    return text.replace(" ", "").split(",")


def timed(m, n, k):
    x, w = matrices(m, n, k)
    out = torch.empty(m, n, device="cuda", dtype=TYPE)
    flush = torch.empty(256 << 20, device="cuda", dtype=torch.uint8)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.matmul(x, w.T, out=out)
        stream.synchronize()
        one = torch.cuda.CUDAGraph()
        with torch.cuda.graph(one, stream=stream):
            torch.matmul(x, w.T, out=out)
        alone = []
        for _ in range(15):
            flush.sum()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            one.replay()
            end.record()
            stream.synchronize()
            alone.append(begin.elapsed_time(end))
            time.sleep(0.003)
        seconds = sorted(alone)[len(alone) // 2] / 1e3
        half = max(4, int(0.3 / seconds))
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for _ in range(half):
            one.replay()
        begin.record()
        for _ in range(half):
            one.replay()
        end.record()
        time.sleep(0.35)
        seen = clocks()
        stream.synchronize()
        lasting = begin.elapsed_time(end) / half
    return seconds * 1e6, lasting * 1e3, *seen


def main():
    if "--ncu" in sys.argv:
        child()
        return
    rows = profiled()
    names = list(METRICS.values())
    print("\t".join(["m", "n", "k", "alone_us", "lasting_us", "clock_mhz", "watts", *names, "kernel"]))
    for (m, n, k), row in zip(SHAPES, rows if len(rows) == len(SHAPES) else [{}] * len(SHAPES)):
        values = [row.get(metric, "") for metric in METRICS]
        print("\t".join([str(m), str(n), str(k), *(f"{v:.2f}" if isinstance(v, float) else v for v in timed(m, n, k)), *values,
                         row.get("Kernel Name", "")[:120]]), flush=True)
    for row in rows if len(rows) != len(SHAPES) else []:
        print("# " + "\t".join([row.get("Kernel Name", "")[:90], *(row.get(metric, "") for metric in METRICS)]))


if __name__ == "__main__":
    main()
