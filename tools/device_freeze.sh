#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A frozen commit's suites on this machine's GPU, each run once, and the counters of their cases. Their
# predictions were committed before (tools/freeze.py).
#
#   OUT=folder SEEDS="1 2 3" tools/device_freeze.sh PROGRAM FAMILY ...
#
# Families: random, serving (by the kernels of decode), operations, operations-any. COUNTERS is how many seconds the
# counters of one family may take (default 240, 0 for none). LIBRARY names libraceline.so (default: beside
# the program), PYTHON the interpreter of bench/counters.py.
set -u
cd "$(dirname "$0")/.." || exit 2
program=${1:?"usage: tools/device_freeze.sh PROGRAM FAMILY ..."}
shift
out=${OUT:-device-freeze}
library=${LIBRARY:-$(dirname "$program")/libraceline.so}
python=${PYTHON:-python3}
# Rows say how they were asked for: under a relative path they name no folder of this machine.
rows=build-freeze
mkdir -p "$out" "$rows"
# shellcheck source=tools/device_run.sh
. tools/device_run.sh
export PYTHONUNBUFFERED=1

# measured FAMILY SEED OPTION...: benched into a file of its own, which comes home.
measured() {
    local file=$rows/$1-$2.jsonl suite=$1:$2
    shift 2
    rm -f "$file"
    into "$file" bench.log 150 "$program" bench --device cuda --suite "$suite" --max-seconds 0.05 "$@"
}

# counted FAMILY: the counters of its cases, a third of the time for each seed, in the same files.
counted() {
    local seed third=$((${COUNTERS:-240} / 3))
    [ "$third" -gt 0 ] || return 0
    for seed in ${SEEDS:?"name the seeds"}; do
        run $((third + 30)) counters.log "$python" bench/counters.py --receipts "$rows/$1-$seed.jsonl" \
            --program "$program" --library "$library" --seconds "$third" --suite "$1:$seed"
        bring counters.log "$rows/$1-$seed.jsonl"
    done
}

# family NAME OPTION...: its suites, then their counters.
family() {
    local seed name=$1
    shift
    for seed in ${SEEDS:?"name the seeds"}; do
        measured "$name" "$seed" "$@"
    done
    counted "$name"
}

step_random() { family random; }
step_serving() { family serving --kernel decode_sm90; }
step_operations() { family operations; }
step_operations-any() { family operations-any; }

run_steps "${@:?"name a family: random serving operations"}"
