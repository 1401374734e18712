#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One visit to a Hopper machine, under four minutes: what promotion of P·V costs prefill_sm90_fp8 in
# time, and what it is worth in accuracy. The gate over every tile on a few shapes; tiles that
# promote beside those that do not (accuracy=fast); relative RMS errors against float64 at 4k, 16k
# and 131k keys, tile by tile.
#
#   OUT=folder tools/device_fp8_accuracy.sh [program] [step ...]
#
# Steps: check speed errors (default: all, in this order). ERRORS=path of device_fp8_accuracy
# (default: tests/ beside the program).
set -u
cd "$(dirname "$0")/.."
program=${1:-build-cuda/raceline}
[ $# -gt 0 ] && shift
steps=${*:-check speed errors}
out=${OUT:-device-fp8-accuracy}
errors=${ERRORS:-$(dirname "$program")/tests/device_fp8_accuracy}
# Rows say how they were asked for: under a relative path they name no folder of this machine.
rows=build-fp8
mkdir -p "$out" "$rows"
kernel=(--device cuda --kernel prefill_sm90_fp8)
# shellcheck source=tools/device_run.sh
. tools/device_run.sh

# Both accuracies: without the option only tiles that promote are tried, with it all of them.
step_check() {
    local d
    for d in 64 128 256; do
        run 40 check.log "$program" check "${kernel[@]}" --tile all --suite "edges-promotion:$d"
    done
}

# Tiles that promote between two rounds of the best of those that do not, at 16k and 4k: what the
# machine's own drift is, two rounds show.
step_speed() {
    local d round
    for d in 128 256 64; do
        for round in 1 2; do
            rm -f "$rows/fast-$d-$round.jsonl"
            into "$rows/fast-$d-$round.jsonl" speed.log 40 "$program" bench "${kernel[@]}" \
                --tile promote=0,prepared=1 --max-seconds 0.05 --suite "lengths-long-fast:$d"
            [ $round = 2 ] && continue
            rm -f "$rows/accurate-$d.jsonl"
            into "$rows/accurate-$d.jsonl" speed.log 80 "$program" bench "${kernel[@]}" \
                --tile all --max-seconds 0.05 --suite "lengths-long:$d" --dtype e4m3
        done
    done
}

step_errors() {
    run 120 errors.log "$errors"
    sed -n '/the largest ratio/,$p' "$out/errors.log"
}

# shellcheck disable=SC2086
run_steps $steps
