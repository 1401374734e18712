#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a busy machine does to times, and what is said of it: the quickstart suite alone and beside two
# busy processes, then one thread alone and beside one. Run it where nothing else runs; two minutes.
#
#   OUT=folder tools/noise_evidence.sh [program]
#
# Printed are each run's seconds, its settled rows, and the times of those that are settled in both
# runs, busy over quiet (bench/turns.py).
set -eu
cd "$(dirname "$0")/.."
program=${1:-build/raceline}
out=${OUT:-noise-evidence}
mkdir -p "$out"
busy=()
trap 'kill "${busy[@]}" 2>/dev/null || true' EXIT

# measure FOLDER NAME BUSY OPTION...: a suite beside so many busy processes.
measure() {
    local folder=$out/$1 name=$2 count=$3 begun=$SECONDS i
    shift 3
    mkdir -p "$folder"
    rm -f "$folder/$name-1.jsonl"
    busy=()
    for ((i = 0; i < count; ++i)); do
        (while :; do :; done) &
        busy+=($!)
    done
    "$program" bench --device cpu --seed 1 "$@" --receipts "$folder/$name-1.jsonl" >"$folder/$name.log" 2>&1
    if ((count > 0)); then
        kill "${busy[@]}"
        wait "${busy[@]}" 2>/dev/null || true
        busy=()
    fi
    python3 - "$folder/$name-1.jsonl" "$count" $((SECONDS - begun)) <<'END'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
timed = [r["measurement"] for r in rows if r["kind"] == "measurement" and r["measurement"]]
settled = sum(not m["unsettled"] for m in timed)
print(f"beside {sys.argv[2]} busy processes: {settled} of {len(timed)} rows settled, {sys.argv[3]} s")
END
}

"$program" measure --device cpu --if-missing >/dev/null
echo "quickstart, all cores"
measure all before 0 --suite quickstart
measure all after 2 --suite quickstart
python3 bench/turns.py "$out/all"
echo "one thread"
measure one before 0 --threads 1 --kernel cpu_flash --suite cpu-one-thread
measure one after 1 --threads 1 --kernel cpu_flash --suite cpu-one-thread
python3 bench/turns.py "$out/one"
