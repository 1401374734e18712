#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory by allocating it: what a call really takes of the device, and how many tokens of cache fit.

    bench/capacity.py --receipts capacity.jsonl

Peak memory: the device's free memory before a call's tensors exist and while all of them do, inputs,
output and the workspace that the library asks for, around a call that ran. Capacity: caches of one
layer are allocated, twice as large each time until one does not fit, then halfway, down to a
thousandth; 1 GiB stays free, as a server would keep. One `ceiling` row each through the library.
"""

import argparse
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

HEADROOM = 1 << 30
PAGE = 64  # tokens that are allocated together
# Tensors of a cache of one layer: bytes a token of each. K and V apart; a latent is both.
NVFP4 = 0.5625  # bytes an element: half a byte and an E4M3 scale for 16
CACHES = {
    "mha128.fp16": [128 * 128 * 2] * 2,
    "gqa8.fp16": [8 * 128 * 2] * 2,
    "gqa8.e4m3": [8 * 128] * 2,
    "gqa8.nvfp4": [8 * 128 * NVFP4] * 2,
    "mla.fp16": [(512 + 64) * 2],
    "mla.e4m3": [512 + 64],
    "mla.nvfp4": [(512 + 64) * NVFP4],
}
STEPS = ("naive", "tiled", "online", "fused")
SHAPES = ("h=8,k=2048,d=64,dtype=fp16", "h=8,k=8192,d=64,dtype=fp16")


def fits(torch, tensors, tokens):
    """Whether a cache of so many tokens can be allocated with the headroom left."""
    held = []
    try:
        for each in tensors:
            held.append(torch.empty(int(tokens * each), dtype=torch.uint8, device="cuda"))
        return torch.cuda.mem_get_info()[0] >= HEADROOM
    except RuntimeError as error:  # without a caching allocator CUDA's own words come through
        if "out of memory" not in str(error):
            raise
        return False
    finally:
        held.clear()


def most_tokens(room, try_tokens, precision=1e-3):
    """The most tokens for which `try_tokens` says yes, in whole pages, to `precision` of them.
    `room` is a first guess."""
    pages = max(1, room // PAGE)
    if not try_tokens(pages * PAGE):
        low, high = 0, pages
    else:
        low, high = pages, 2 * pages
        while try_tokens(high * PAGE):
            low, high = high, 2 * high
    while high - low > max(1, precision * high):
        middle = (low + high) // 2
        low, high = (middle, high) if try_tokens(middle * PAGE) else (low, middle)
    return low * PAGE


def capacity_row(torch, library, about, name):
    tensors = CACHES[name]
    free, whole = torch.cuda.mem_get_info()
    tokens = most_tokens(int(free / 2 / sum(tensors)), lambda n: fits(torch, tensors, n))
    return library.append("ceiling", {
        **about,
        "ceiling": {"resource": f"capacity.tokens.{name}", "value": tokens, "unit": "token",
                    "clock_hz": 0, "power_w": 0, "limit": whole / sum(tensors),
                    "method": "allocated with cudaMalloc, 1 GiB left free, freed again"},
        "capacity": {"cache": name, "bytes_per_token": sum(tensors), "tokens": tokens,
                     "free_bytes": free, "headroom_bytes": HEADROOM}})


def peak_row(torch, library, about, kernel, text):
    """Runs a call and appends what it took."""
    from problem import Problem
    from tensors import Inputs, Raceline
    predicted = library.predict(text, kernel=kernel)
    problem = Problem.of(text, predicted["workload"])

    def run():
        generator = torch.Generator(device="cuda").manual_seed(1)
        before = torch.cuda.mem_get_info()[0]
        inputs = Inputs(problem, generator, torch.device("cuda"))
        torch.cuda.synchronize()
        with_inputs = torch.cuda.mem_get_info()[0]
        call = Raceline(library, problem, [inputs], kernel)
        out = call(0)
        torch.cuda.synchronize()
        after = torch.cuda.mem_get_info()[0]
        if not bool(torch.isfinite(out).all()):
            raise RuntimeError("it left elements unwritten")
        return before, with_inputs, after, call.bytes.value

    run()  # loads the code, which takes memory once
    before, with_inputs, after, workspace = run()
    return library.append("ceiling", {
        **about,
        "ceiling": {"resource": f"memory.peak.{kernel}", "value": before - after, "unit": "byte",
                    "clock_hz": 0, "power_w": 0, "limit": torch.cuda.mem_get_info()[1],
                    "method": f"cudaMemGetInfo before and during {text}"},
        "memory": {"kernel": kernel, "workload": predicted["workload"], "peak_bytes": before - after,
                   "input_bytes": before - with_inputs, "workspace_bytes": workspace}})


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--receipts", required=True)
    parser.add_argument("--library", default=str(HERE.parent / "build" / "libraceline.so"))
    options = parser.parse_args(argv)
    # Every tensor is a cudaMalloc of its own: a caching allocator would hide what is in use.
    os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
    import torch
    from c_library import Library
    from failures import exit_status
    library = Library(os.path.abspath(options.library), options.receipts)
    torch.zeros(1, device="cuda")
    about = {"suite": "capacity",
             "device": library.predict("h=8,k=512,d=64,dtype=fp16")["device"]}
    failed = []
    for kernel in STEPS:
        for text in SHAPES:
            try:
                row = peak_row(torch, library, about, kernel, text)
                print(f"{kernel} {text}: {row['ceiling']['value'] / 1e6:.1f} MB, workspace "
                      f"{row['memory']['workspace_bytes'] / 1e6:.3f} MB", flush=True)
            except Exception as error:  # noqa: BLE001 - the others still have their answer
                failed.append(f"{kernel} {text}: {error}")
    for name in CACHES:
        try:
            row = capacity_row(torch, library, about, name)
            print(f"{name}: {row['ceiling']['value']:.0f} tokens", flush=True)
        except Exception as error:  # noqa: BLE001
            failed.append(f"{name}: {error}")
    library.close()
    return exit_status(failed)


if __name__ == "__main__":
    sys.exit(main())
