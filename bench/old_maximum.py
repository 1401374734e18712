#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs in accuracy to round probabilities relative to an old maximum, by simulation.

Normal queries, keys and values in bf16, no mask; everything in float64 but P and the output, which
are rounded to bf16. Relative to a running maximum, as FlashAttention-2 does it, every key that is a
new maximum has the probability 1, which is exact: and the heaviest keys are such keys. Relative to
the maximum of the block that was first, they are rounded like any other. prefill_sm90 is between:
where a thread's probabilities of a row and block add up to more than its limit, the 16 rows of its
warp are taken relative to their maxima. Printed: the error of both over the first's, and the share
of blocks that were lowered so. Needs NumPy; no kernel runs.
"""

import argparse

import numpy as np


def bf16(x):
    """x, rounded to nearest even."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)
    return (rounded << np.uint64(16)).astype(np.uint32).view(np.float32).astype(np.float64)


def error(scores, values, base):
    """Of outputs whose probabilities are relative to 2^base when they are rounded; root of the sum
    of squares. base: (rows, keys) or (rows, 1)."""
    top = scores.max(1, keepdims=True)
    exact = np.exp2(scores - top)
    answer = exact @ values / exact.sum(1, keepdims=True)
    rounded = bf16(np.exp2(scores - base)) * np.exp2(base - top)
    return np.linalg.norm(bf16(rounded @ values / exact.sum(1, keepdims=True)) - answer)


def running_maximum(scores, block):
    base = np.empty_like(scores)
    so_far = np.full((len(scores), 1), -np.inf)
    for first in range(scores.shape[1] - block, -1, -block):  # last keys first
        part = scores[:, first:first + block]
        so_far = np.maximum(so_far, part.max(1, keepdims=True))
        base[:, first:first + block] = so_far
    return base


def lowered(scores, block, limit):
    """The base of every score, and the share of a warp's blocks that raised it."""
    rows = scores.shape[0]
    base = np.empty_like(scores)
    so_far = None
    raised = []
    for first in range(scores.shape[1] - block, -1, -block):
        part = scores[:, first:first + block]
        if so_far is None:
            so_far = part.max(1)
        else:
            # A thread has columns 2t and 2t + 1 of every eight.
            sums = np.exp2(part - so_far[:, None]).reshape(rows, block // 8, 4, 2).sum((1, 3))
            warps = (sums > limit).any(1).reshape(-1, 16).any(1)
            raised.append(warps.mean())
            so_far = np.where(np.repeat(warps, 16), np.maximum(so_far, part.max(1)), so_far)
        base[:, first:first + block] = so_far[:, None]
    return base, np.mean(raised)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--headdim", type=int, default=128)
    parser.add_argument("--block", type=int, default=64, help="keys of a block")
    parser.add_argument("--spread", type=float, default=1, help="standard deviation of the logits")
    parser.add_argument("--limit", type=float, default=0,
                        help="of a thread's sum (default: the kernel's, 32 or a quarter of the block)")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    limit = args.limit or max(32, args.block / 4)
    rng = np.random.default_rng(args.seed)
    scale = args.spread * np.log2(np.e) / np.sqrt(args.headdim)
    for keys in (512, 1024, 2048, 4096, 8192, 16384):
        rows = max(1024, 2**21 // keys)
        q, k, v = (bf16(rng.standard_normal((n, args.headdim))) for n in (rows, keys, keys))
        scores = q @ k.T * scale
        running = error(scores, v, running_maximum(scores, args.block))
        old = error(scores, v, scores[:, -args.block:].max(1, keepdims=True))
        base, share = lowered(scores, args.block, limit)
        print(f"{keys:6} keys, {rows} rows: first block's {old / running:.3f}, "
              f"lowered {error(scores, v, base) / running:.3f} ({100 * share:.1f} % of blocks)")


if __name__ == "__main__":
    main()
