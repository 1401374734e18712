#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the resources of this machine's GPU draw, and times and counters of random suites.
#
#   OUT=folder [DEADLINE=seconds] tools/device_power.sh [program] [step ...]
#
# Steps: power (energies and mixes, a minute and a half), random (the suites of SUITES, predicted and
# measured), counters (of what `random` measured; KERNELS: of these alone). LIBRARY names libraceline.so
# (default: beside the program), PYTHON an interpreter.
set -u
cd "$(dirname "$0")/.." || exit 2
program=${1:-build/raceline}
[ $# -gt 0 ] && shift
steps=${*:-power random counters}
out=${OUT:-device-power}
python=${PYTHON:-python3}
library=${LIBRARY:-$(dirname "$program")/libraceline.so}
# Rows say how they were asked for: under a relative path they name no folder of this machine.
rows=build-power
mkdir -p "$out" "$rows"
export PYTHONUNBUFFERED=1
# shellcheck source=tools/device_run.sh
. tools/device_run.sh

step_power() {
    rm -f "$rows/power.jsonl"
    into "$rows/power.jsonl" power.log 200 "$program" measure --device cuda --power
}

step_random() {
    local suite
    for suite in ${SUITES:-$(date +%Y%m%d)}; do
        rm -f "$rows/random-$suite.jsonl"
        # shellcheck disable=SC2086
        into "$rows/random-$suite.jsonl" random.log 150 "$program" bench --device cuda \
            --suite "random:$suite" --max-seconds 0.05 ${KERNELS:-}
    done
}

step_counters() {
    local suite
    for suite in ${SUITES:-$(date +%Y%m%d)}; do
        # shellcheck disable=SC2086
        into "$rows/random-$suite.jsonl" counters.log "${COUNTER_SECONDS:-120}" "$python" \
            bench/counters.py --program "$program" --library "$library" \
            --suite "random:$suite" --seconds "$((${COUNTER_SECONDS:-120} - 10))" ${KERNELS:-}
    done
}

# shellcheck disable=SC2086
run_steps $steps
