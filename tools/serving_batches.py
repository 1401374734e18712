# SPDX-License-Identifier: Apache-2.0
"""Checks decode on batches of a server, suite after suite, until a number is reached or time is out.

    python3 tools/serving_batches.py PROGRAM [--batches 2000] [--seconds 550] [--seed 1] [--workers 1] [--log FILE]

Each suite `serving:SEED` is checked by the gate: every element against float64, on draws that it chooses.
The log has a line a batch: suite, which of its cases, bytes of keys and values, passed, and the largest error as a
part of its limit; of one that failed the gate's reason and the workload as JSON. Workers check suites side by side on
one GPU, where memory may not suffice for all: a suite in which a batch failed is checked once more, alone, at the end,
under the same limits of the gate. What fails there too is wrong. The last line sums up, and says how many batches failed
beside others and passed alone. Exit status: 0 if none was wrong, 1 otherwise, 2 if nothing was checked.
"""

import argparse
import itertools
import json
import subprocess
import sys
import threading
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


def of_limit(proof):
    """The largest of the errors that have a limit, as a part of it."""
    pairs = (("relative_rms", "bound"), ("worst", "bound_worst"), ("aligned", "bound_aligned"))
    return max((proof[error] / proof[limit] for error, limit in pairs if proof.get(limit)), default=0.0)


class Tally:
    """What all workers found, and the log of it."""

    def __init__(self, log):
        self.log = log
        self.lock = threading.Lock()
        self.count = self.large = self.wrong = self.passed_alone = 0
        self.worst = 0.0
        self.failed = {}  # by seed, how many batches of the suite failed

    def add(self, seed, rows, cut):
        """Of a suite beside others."""
        with self.lock:
            self._write(seed, rows, cut)
            failed = sum(not row["correctness"]["passed"] for row in rows) + cut
            if failed:
                self.failed[seed] = failed
            else:
                self._count(rows)

    def add_alone(self, seed, rows, cut):
        """Of one in which something had failed beside others."""
        print(f"serving:{seed}\talone", file=self.log)
        self._write(seed, rows, cut)
        self._count(rows)
        wrong = sum(not row["correctness"]["passed"] for row in rows) + cut
        self.wrong += wrong
        self.passed_alone += max(0, self.failed.pop(seed) - wrong)

    def _write(self, seed, rows, cut):
        for number, row in enumerate(rows, 1):
            proof = row["correctness"]
            verdict = "passed"
            if not proof["passed"]:
                verdict = f"FAILED: {proof['why']} {json.dumps(row['workload'])}"
            print(f"serving:{seed}", number, int(cache_bytes(row["workload"])), verdict, f"{of_limit(proof):.2f}",
                  sep="\t", file=self.log)
        if cut:
            print(f"serving:{seed}\tended before its last batch", file=self.log)

    def _count(self, rows):
        self.count += len(rows)
        self.large += sum(cache_bytes(row["workload"]) > LARGE for row in rows)
        self.worst = max([self.worst, *(of_limit(row["correctness"]) for row in rows)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--batches", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=550)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--kernel", default="decode_sm90")
    parser.add_argument("--log", default="serving-batches.tsv")
    args = parser.parse_args()
    begun = time.monotonic()

    def left():
        return args.seconds - (time.monotonic() - begun)

    seeds = itertools.count(args.seed)
    reserved = 1 + args.seconds / 8  # for suites that are checked again
    with open(args.log, "w", encoding="utf-8") as log:
        tally = Tally(log)

        def work():
            while tally.count < args.batches and left() > reserved:
                with tally.lock:
                    seed = next(seeds)
                rows, ended = checked(args.program, args.kernel, seed, left() - reserved)
                tally.add(seed, rows, cut=not ended and left() > reserved + 1)

        workers = [threading.Thread(target=work) for _ in range(args.workers)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        for seed in list(tally.failed):
            rows, ended = checked(args.program, args.kernel, seed, max(1, left()))
            tally.add_alone(seed, rows, cut=not ended)
        said = (f"{tally.count} batches of {args.kernel}, {tally.large} of them over 1 GB, {tally.wrong} wrong, largest "
                f"error {tally.worst:.2f} of its limit; {tally.passed_alone} failed beside others and passed alone; "
                f"{time.monotonic() - begun:.0f} s")
        print(said, file=log)
    print(said)
    return 2 if tally.count == 0 else int(tally.wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
