#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a frozen commit predicts of random suites that nobody has run: a table to commit before the run.

    tools/freeze.py PROGRAM DEVICE [--family FAMILY] | gzip -n9 >receipts/DEVICE/logs/DATE-frozen-COMMIT.tsv.gz
    tools/freeze.py PROGRAM seeds

PROGRAM was built from a clean tree of the commit that is frozen. The seeds are the first eight hex
digits of that commit's hash as a number, +1 and +2, and nobody chooses them. The suites are then run
once, by the same binary, and committed as they fall. `seeds` prints the seeds.
"""

import argparse
import json
import subprocess
import sys
from typing import Any

COLUMNS = ("workload", "kernel", "tile", "seconds", "uncalibrated_seconds", "expected_seconds", "limiter",
           "model_hash")


def rows(program: str, *options: str) -> list[dict[str, Any]]:
    command = [program, "predict", "--json", *options]
    run = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(f"freeze: `{' '.join(command)}` ended with {run.returncode}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def line_of(row: dict[str, Any]) -> str:
    prediction = row["prediction"]
    workload, tile = (json.dumps(row[name], separators=(",", ":")) for name in ("workload", "tile"))
    numbers = (prediction[name] for name in COLUMNS[3:6])
    cells = (row["suite"], workload, row["kernel"], tile, *numbers, prediction["limiter"],
             prediction["model_hash"][:16])
    return "\t".join(map(str, cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the program `raceline`, built from a clean tree")
    parser.add_argument("device", help="a name in `raceline devices`, or `seeds`")
    parser.add_argument("--family", choices=("random", "serving", "operations", "operations-any"), default="random",
                        help="suites to predict: random ones, batches of a server by the kernels of decode, or "
                             "operations beside attention, at widths of models or at any")
    arguments = parser.parse_args()
    git = rows(arguments.program, "--device", "h200", "--kernel", "simt", "--shape", "h=1,q=1,k=1,d=64")[0]["git"]
    if git["dirty"]:
        sys.exit("freeze: the program was built from a tree with uncommitted changes")
    seeds = [int(git["commit"][:8], 16) + i for i in range(3)]
    if arguments.device == "seeds":
        print(*seeds)
        return
    print(f"# Predictions of a frozen commit on {arguments.family} suites that were never run before: the binary is "
          f"{git['commit'][:12]},")
    print("# the seeds are the first eight hex digits of that commit's hash as a number, +1 and +2.")
    print("# suite", *COLUMNS, sep="\t")
    kernels = ("--kernel", "decode_sm90") if arguments.family == "serving" else ()
    for seed in seeds:
        suite = f"{arguments.family}:{seed}"
        for row in rows(arguments.program, "--device", arguments.device, "--suite", suite, *kernels):
            if row["kind"] == "prediction":
                print(line_of(row))


if __name__ == "__main__":
    main()
