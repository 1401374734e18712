#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The whole ladder on this machine's GPU in under ten minutes: every rung on its suite, counters of
# every rung, the gap table, the sweeps, memory, and the check of every receipt. docs/ladder.md is
# generated from what comes home.
#
#   OUT=folder [DEADLINE=seconds] tools/device_ladder.sh [program] [step ...]
#
# Steps: ladder scratch counters gap splits gemm capacity counters_wide verify (default: all, in this
# order); on request check (the gate over every tile on small shapes) and sanitize. LIBRARY names libraceline.so
# (default: beside the program), PYTHON an interpreter with PyTorch. What comes home: one receipt file
# a step, and one log.
set -u
cd "$(dirname "$0")/.."
program=${1:-build/raceline}
[ $# -gt 0 ] && shift
steps=${*:-ladder scratch counters gap splits gemm capacity counters_wide verify}
out=${OUT:-device-ladder}
python=${PYTHON:-python3}
library=${LIBRARY:-$(dirname "$program")/libraceline.so}
log=ladder.log
# Rows say how they were asked for: under a relative path they name no folder of this machine.
rows=build-ladder
mkdir -p "$out" "$rows"
export PYTHONUNBUFFERED=1 PYTHONWARNINGS=ignore
# shellcheck source=tools/device_run.sh
. tools/device_run.sh
LD_LIBRARY_PATH="$(cd "$(dirname "$library")" 2>/dev/null && pwd):$LD_LIBRARY_PATH"

# rungs TRACK...: `--kernel NAME` for every rung of these tracks.
rungs() {
    local track
    for track in "$@"; do
        "$program" kernels --json | grep "\"track\":\"$track\"" |
            sed -E 's/.*"kernel":"([a-z0-9_]+)".*/--kernel \1/'
    done
}

# bench LIMIT FILE OPTION...: measured into a file of its own, which comes home.
bench() {
    local limit=$1 file=$rows/$2.jsonl
    shift 2
    run "$limit" $log "$program" bench --device cuda --receipts "$file" "$@"
    cp "$file" "$out/"
}

# script LIMIT FILE NAME OPTION...: a script of bench/ that appends to the file.
script() {
    local limit=$1 file=$rows/$2.jsonl which=$3
    shift 3
    run "$limit" $log "$python" "bench/$which" --library "$library" --receipts "$file" "$@"
    cp "$file" "$out/"
}

step_ladder() {
    rm -f $rows/ladder.jsonl
    # shellcheck disable=SC2046
    bench 330 ladder --suite ladder $(rungs prefill decode) --max-seconds 0.02
}

step_scratch() {
    rm -f $rows/from-scratch.jsonl
    # shellcheck disable=SC2046
    bench 40 from-scratch --suite from-scratch $(rungs from-scratch) --max-seconds 0.1
}

step_counters() {
    script 130 ladder counters.py --program "$program" --seconds 120
    script 50 from-scratch counters.py --program "$program" --seconds 45
}

# A second shape of each rung that takes one: short prefill, many sequences.
step_counters_wide() {
    script 110 ladder counters.py --program "$program" --seconds 100 \
        --suite ladder-wide
}

# Every tile of what stands between the best rung and the fastest library, then that library.
step_gap() {
    rm -f $rows/ladder-gap.jsonl
    bench 60 ladder-gap --suite ladder-gap --kernel light_barriers --kernel tensor_cores \
        --kernel prefill_mma --kernel prefill_sm90 --tile all --max-seconds 0.1
    script 60 ladder-gap compare.py --suite ladder-gap --peers cudnn
}

step_splits() {
    rm -f $rows/ladder-splits.jsonl
    bench 60 ladder-splits --suite ladder-splits --kernel splitkv --kernel gqa_scorestationary \
        --tile all --max-seconds 0.02
}

step_gemm() {
    rm -f $rows/ladder-gemm.jsonl
    script 70 ladder-gemm e4m3_sweep.py --seconds 60
}

step_capacity() {
    rm -f $rows/ladder-capacity.jsonl
    script 50 ladder-capacity capacity.py
}

# Always: it takes a second a file.
step_verify() {
    local file DEADLINE=
    for file in "$rows"/*.jsonl; do
        run 20 $log "$program" report --check "$file"
    done
}

step_check() {
    local rung
    for rung in $(rungs prefill decode from-scratch | sed 's/--kernel //'); do
        run 30 $log "$program" check --device cuda --kernel "$rung" --tile all \
            --suite edges-ladder
    done
}

step_sanitize() {
    # shellcheck disable=SC2046
    sanitize 120 $log "$program" check --device cuda $(rungs prefill from-scratch) \
        --suite sanitizer-ladder
}

# shellcheck disable=SC2086
run_steps $steps
