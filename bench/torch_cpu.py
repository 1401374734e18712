#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""raceline beside PyTorch's CPU attention: one process, the same tensors, the same threads.

    bench/torch_cpu.py --library build/libraceline.so [--receipts FILE] [--threads N] [--seconds S]

Prefill is timed against scaled_dot_product_attention; decode against its enable_gqa form, the form
with the group folded into the query rows, and matmul + softmax. Forms take turns in random order;
the inputs of a turn are cold (all sets together exceed twice the last-level cache). Every output is
compared with float64. One `comparison` row a shape and form is written through the library.
"""

import argparse
import ctypes as c
import gc
import math
import os
import random
import time
from dataclasses import dataclass

# Two OpenMP runtimes live in this process; a team that spins after its region would take the cores
# from the other one. Both sleep instead.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

from c_library import BF16, FP32, ForwardArgs, Library, Options, Tensor, sized  # noqa: E402


@dataclass
class Shape:
    heads_q: int
    heads_kv: int
    q: int
    k: int
    d: int
    dtype: str
    causal: bool

    def text(self):
        heads = f"{self.heads_q}/{self.heads_kv}" if self.heads_q != self.heads_kv else self.heads_q
        mask = ",causal" if self.causal else ""
        return f"b=1,h={heads},q={self.q},k={self.k},d={self.d},dtype={self.dtype}{mask}"

    def flops(self):
        pairs = self.q * (self.q + 1) / 2 if self.causal else self.q * self.k
        return 4 * self.heads_q * pairs * self.d

    def cache_bytes(self):
        return 2 * self.heads_kv * self.k * self.d * (4 if self.dtype == "fp32" else 2)


def shapes():
    for dtype in ("fp32", "bf16"):
        for d in (64, 128):
            for n in (512, 2048, 4096):
                for causal in (False, True):
                    yield Shape(8, 8, n, n, d, dtype, causal)
        yield Shape(32, 8, 1, 32768, 128, dtype, False)
        yield Shape(32, 32, 1, 32768, 128, dtype, False)


class Inputs:
    """Distinct random tensors (heads, seqlen, headdim), contiguous: PyTorch's own layout, which
    raceline reads through strides."""

    def __init__(self, shape, generator):
        dtype = torch.float32 if shape.dtype == "fp32" else torch.bfloat16
        make = lambda h, n: torch.randn(1, h, n, shape.d, generator=generator).to(dtype)
        self.q = make(shape.heads_q, shape.q)
        self.k = make(shape.heads_kv, shape.k)
        self.v = make(shape.heads_kv, shape.k)
        self.out = torch.full_like(self.q, float("nan"))

    def bytes(self):
        return sum(t.numel() * t.element_size() for t in (self.q, self.k, self.v, self.out))


def view(tensor):
    """(1, heads, seqlen, headdim) as raceline's (batch, seqlen, heads, headdim)."""
    b, h, n, d = tensor.shape
    sb, sh, sn, _ = tensor.stride()
    return sized(Tensor, data=tensor.data_ptr(), dtype=FP32 if tensor.dtype == torch.float32
                 else BF16, rank=4, shape=(c.c_int64 * 4)(b, n, h, d),
                 strides=(c.c_int64 * 4)(sb, sn, sh, 1))


class Ours:
    """One prepared call a set of inputs."""

    def __init__(self, library, shape, sets, threads):
        self.library = library
        self.calls = []
        for x in sets:
            views = [view(t) for t in (x.q, x.k, x.v, x.out)]
            options = sized(Options, causal=int(shape.causal), threads=threads)
            args = sized(ForwardArgs, q=c.pointer(views[0]), k=c.pointer(views[1]),
                         v=c.pointer(views[2]), out=c.pointer(views[3]),
                         options=c.pointer(options))
            self.calls.append((args, views, options))
        size = c.c_size_t()
        library.check(library.lib.rl_forward_workspace(c.byref(self.calls[0][0]), 0,
                                                       c.byref(size)))
        self.scratch = torch.empty(size.value + 64, dtype=torch.uint8)
        self.scratch_at = (self.scratch.data_ptr() + 63) // 64 * 64
        self.scratch_bytes = size.value

    def __call__(self, index):
        status = self.library.lib.rl_forward(c.byref(self.calls[index][0]), 0, None,
                                             c.c_void_p(self.scratch_at),
                                             c.c_size_t(self.scratch_bytes))
        self.library.check(status)


def torch_forms(shape, sets):
    """PyTorch's ways to the same answer, each a function of the set's index."""
    group = shape.heads_q // shape.heads_kv
    scale = 1 / math.sqrt(shape.d)

    def sdpa(i):
        x = sets[i]
        return F.scaled_dot_product_attention(x.q, x.k, x.v, is_causal=shape.causal)

    def enable_gqa(i):
        x = sets[i]
        return F.scaled_dot_product_attention(x.q, x.k, x.v, enable_gqa=True)

    def folded_rows(i):
        x = sets[i]
        q = x.q.view(1, shape.heads_kv, group, shape.d)
        return F.scaled_dot_product_attention(q, x.k, x.v).view(x.q.shape)

    def matmul_softmax(i):
        x = sets[i]
        q = x.q.view(1, shape.heads_kv, group * shape.q, shape.d)
        p = torch.softmax(torch.matmul(q * scale, x.k.transpose(-1, -2)), dim=-1)
        return torch.matmul(p, x.v).view(x.q.shape)

    if shape.q > 1:
        return {"sdpa": sdpa}
    if group == 1:
        return {"sdpa": sdpa, "matmul_softmax": matmul_softmax}
    return {"enable_gqa": enable_gqa, "folded_rows": folded_rows, "matmul_softmax": matmul_softmax}


def float64_answer(shape, x):
    q, k, v = (t.double() for t in (x.q, x.k, x.v))
    group = shape.heads_q // shape.heads_kv
    k, v = (t.repeat_interleave(group, dim=1) for t in (k, v))
    s = q @ k.transpose(-1, -2) / math.sqrt(shape.d)
    if shape.causal:
        s.masked_fill_(torch.ones(shape.q, shape.k, dtype=torch.bool).triu(1), float("-inf"))
    return torch.softmax(s, dim=-1) @ v


def relative_rms(out, reference):
    return float(((out.double() - reference).norm() / reference.norm()))


def measure(forms, sets, seconds):
    """Samples of every form; each round calls all of them in random order on the next set."""
    samples = {name: [] for name in forms}
    for call in forms.values():  # warm up code and thread pools, untimed
        call(0)
    order = list(forms)
    begun, rounds = time.perf_counter(), 0
    while rounds < 9 or time.perf_counter() - begun < seconds * len(forms):
        random.shuffle(order)
        for position, name in enumerate(order):
            index = (rounds * len(order) + position) % len(sets)
            start = time.perf_counter()
            forms[name](index)
            samples[name].append(time.perf_counter() - start)
        rounds += 1
        if rounds >= 400:
            break
    return samples


def run_shape(shape, library, arguments, cache_bytes):
    generator = torch.Generator().manual_seed(hash(shape.text()) & 0x7FFFFFFF)
    sets = [Inputs(shape, generator)]
    while len(sets) < 64 and sum(x.bytes() for x in sets) <= 2 * cache_bytes:
        sets.append(Inputs(shape, generator))
    if len(sets) < 3 and shape.cache_bytes() < 4 * cache_bytes:
        sets.append(Inputs(shape, generator))
    ours = Ours(library, shape, sets, arguments.threads)
    peers = torch_forms(shape, sets)

    reference = float64_answer(shape, sets[0])
    ours(0)
    error = relative_rms(sets[0].out, reference)
    errors = {name: relative_rms(form(0), reference) for name, form in peers.items()}
    del reference
    gc.collect()

    about = library.predict_shape(shape.text(), "cpu")
    about["suite"] = "torch-cpu"
    library.append("prediction", about)
    samples = measure({"raceline": ours, **peers}, sets, arguments.seconds)
    # Two bits of storage more or less than the output's own rounding: a wrong answer, not noise.
    bound = 1e-5 if shape.dtype == "fp32" else 1e-2
    about["correctness"] = {"passed": error < bound, "relative_rms": error, "bound": bound}
    rows = {}
    for name in peers:
        peer = {"name": "torch_cpu", "version": torch.__version__, "backend": name,
                "correctness": {"passed": errors[name] < bound, "relative_rms": errors[name]}}
        rows[name] = library.append_comparison(about, samples["raceline"], peer, samples[name])
    return error, errors, rows


def print_shape(shape, error, errors, rows):
    for name, row in rows.items():
        mine, peer = row["measurement"]["seconds_median"], row["peer"]["seconds_median"]
        if shape.q > 1:
            unit, a, b = "GFLOP/s", shape.flops() / mine / 1e9, shape.flops() / peer / 1e9
        else:
            unit, a, b = "GB/s", shape.cache_bytes() / mine / 1e9, shape.cache_bytes() / peer / 1e9
        print(f"{shape.text():52} {name:15} {a:7.1f} {b:7.1f} {unit:8} {row['ratio']:6.2f} "
              f"[{row['ratio_low']:.2f}, {row['ratio_high']:.2f}]  {error:.1e} {errors[name]:.1e}",
              flush=True)


def last_level_cache():
    sizes = []
    base = "/sys/devices/system/cpu/cpu0/cache"
    for index in os.listdir(base) if os.path.isdir(base) else []:
        try:
            with open(f"{base}/{index}/size", encoding="ascii") as file:
                sizes.append(int(file.read().strip().rstrip("K")) * 1024)
        except (OSError, ValueError):
            continue
    return max(sizes, default=32 << 20)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="path of libraceline.so")
    parser.add_argument("--receipts", default="", help="file to append to (default: a new one)")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=1.0, help="timed work per shape and form")
    parser.add_argument("--only", default="", help="shapes whose text contains this")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.set_grad_enabled(False)
    library = Library(arguments.library, arguments.receipts)
    print(f"PyTorch {torch.__version__} ({torch.backends.cpu.get_cpu_capability()}), "
          f"{arguments.threads} threads")
    print(f"{'shape':52} {'PyTorch form':15} {'ours':>7} {'theirs':>7} {'':8} {'ratio':>6} "
          f"[95 % interval]  error of ours, theirs")
    ratios = {}
    for shape in shapes():
        if arguments.only not in shape.text():
            continue
        error, errors, rows = run_shape(shape, library, arguments, last_level_cache())
        print_shape(shape, error, errors, rows)
        for name, row in rows.items():
            kind = ("prefill " + ("causal" if shape.causal else "full")) if shape.q > 1 else name
            ratios.setdefault(f"{kind} {shape.dtype}", []).append(row["ratio"])
    for kind, values in ratios.items():
        mean = math.exp(sum(math.log(v) for v in values) / len(values))
        print(f"{kind}: geometric mean {mean:.2f}, least {min(values):.2f}, {len(values)} shapes")
    print(f"receipts: {library.receipt_path}")
    library.close()


if __name__ == "__main__":
    main()
