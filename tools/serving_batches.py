# SPDX-License-Identifier: Apache-2.0
"""Checks decode on batches of a server, suite after suite, until a number is reached or time is out.

    python3 tools/serving_batches.py PROGRAM [--batches 2000] [--seconds 550] [--seed 1] [--kernel decode_sm90] [--log FILE]

Each suite `serving:SEED` is checked by the gate: every element against float64, on draws that it chooses.
The log has a line a batch: suite, workload as JSON, bytes of keys and values, passed, relative error. The last
line sums up. Exit status: 0 if none was wrong, 1 otherwise, 2 if nothing was checked.
"""

import argparse
import json
import subprocess
import sys
import time

LARGE = 1e9  # bytes of keys and values: such a batch leaves every cache


def cache_bytes(workload):
    """Bytes of keys and values that a batch reads."""
    lengths = workload.get("seqlens_k") or [workload["seqlen_k"]] * workload["batch"]
    value = {"fp32": 4, "bf16": 2, "fp16": 2, "e4m3": 1}[workload["kv_dtype"]]
    return sum(lengths) * workload["heads_kv"] * (workload["headdim"] + workload["headdim_v"]) * value


def checked(program, kernel, seed, left):
    """Check rows of one suite, and whether it ended in time."""
    command = [program, "check", "--device", "cuda", "--kernel", kernel, "--tile", "best",
               "--suite", f"serving:{seed}", "--json"]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=left, check=False)
        text, ended = done.stdout.decode(), done.returncode in (0, 1)
    except subprocess.TimeoutExpired as stopped:
        text, ended = (stopped.stdout or b"").decode(), False
    rows = []
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue  # cut off
        if row.get("kind") == "check":
            rows.append(row)
    return rows, ended


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--batches", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=550)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kernel", default="decode_sm90")
    parser.add_argument("--log", default="serving-batches.tsv")
    args = parser.parse_args()
    begun = time.monotonic()
    count = large = wrong = 0
    worst = 0.0
    seed = args.seed
    with open(args.log, "w", encoding="utf-8") as log:
        while count < args.batches:
            left = args.seconds - (time.monotonic() - begun)
            if left < 1:
                break
            rows, ended = checked(args.program, args.kernel, seed, left)
            for row in rows:
                proof = row["correctness"]
                size = cache_bytes(row["workload"])
                count += 1
                large += size > LARGE
                wrong += not proof["passed"]
                error = proof.get("relative_rms", 0.0)
                worst = max(worst, error)
                print(f"serving:{seed}", json.dumps(row["workload"], separators=(",", ":")), int(size),
                      "passed" if proof["passed"] else "WRONG", f"{error:.2e}", sep="\t", file=log)
            if not ended and time.monotonic() - begun < args.seconds - 1:
                print(f"serving:{seed}\tended before its last batch", file=log)
                wrong += 1
            seed += 1
        said = (f"{count} batches of {args.kernel}, {large} of them over 1 GB, {wrong} wrong, worst relative RMS "
                f"error {worst:.2e}, {time.monotonic() - begun:.0f} s")
        print(said, file=log)
    print(said)
    return 2 if count == 0 else int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
