#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a frozen commit predicts of random suites that nobody has run: a table to commit before the run.
#
#   tools/freeze.sh PROGRAM DEVICE >receipts/DEVICE/logs/DATE-frozen-COMMIT.tsv
#
# PROGRAM was built from a clean tree of the commit that is frozen. The seeds are the first eight hex
# digits of that commit's hash as a number, +1 and +2, and nobody chooses them. The suites are then run
# once, by the same binary, and committed as they fall. `tools/freeze.sh PROGRAM seeds` prints the seeds.
set -eu
program=${1:?"usage: tools/freeze.sh PROGRAM DEVICE|seeds"}
device=${2:?"usage: tools/freeze.sh PROGRAM DEVICE|seeds"}
exec python3 - "$program" "$device" <<'PYTHON'
import json
import subprocess
import sys

program, device = sys.argv[1:]


def rows(*options):
    command = [program, "predict", "--json", *options]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in text.splitlines()]


git = rows("--device", "h200", "--kernel", "simt", "--shape", "h=1,q=1,k=1,d=64")[0]["git"]
if git["dirty"]:
    sys.exit("freeze: the program was built from a tree with uncommitted changes")
seeds = [int(git["commit"][:8], 16) + i for i in range(3)]
if device == "seeds":
    print(*seeds)
    sys.exit()
print(f"# Predictions of a frozen commit on random suites that were never run before: the binary is {git['commit'][:12]},")
print("# the seeds are the first eight hex digits of that commit's hash as a number, +1 and +2.")
print("# suite", "workload", "kernel", "tile", "seconds", "uncalibrated_seconds", "expected_seconds", "limiter", "model_hash", sep="\t")
for seed in seeds:
    for row in rows("--device", device, "--suite", f"random:{seed}"):
        if row["kind"] == "prediction":
            p = row["prediction"]
            compact = [json.dumps(row[name], separators=(",", ":")) for name in ("workload", "tile")]
            print(row["suite"], compact[0], row["kernel"], compact[1], p["seconds"], p["uncalibrated_seconds"],
                  p["expected_seconds"], p["limiter"], p["model_hash"][:16], sep="\t")
PYTHON
