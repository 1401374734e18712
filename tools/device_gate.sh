#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The gate on this machine's GPU: that it refuses what is wrong, that it accepts the engines on every
# kind of inputs, how long that takes, and random checks of everything there is.
#
#   OUT=folder [TESTS=device_test_run] tools/device_gate.sh [program] [step ...]
#
# Steps: mutations (what TESTS holds: draws equal to the host's, wrong outputs refused), training
# (training-16k, every kind of inputs, with the time it took, some 50 s for each engine and type of
# TRAINING, default "prefill_sm90:bf16 prefill_mma:fp16 prefill_sm90_fp8:e4m3"), random (the random suites of SEEDS,
# default "1 2 3", on every kernel that serves them, as rows), predict (the random suites of SUITES,
# predicted and measured), ladder (every rung on the ladder's suite). Default: mutations, training and
# random. tools/turns.sh times two programs in turns.
set -u
cd "$(dirname "$0")/.." || exit 2
program=${1:-build/raceline}
[ $# -gt 0 ] && shift
steps=${*:-mutations training random}
out=${OUT:-device-gate}
rows=build-gate
mkdir -p "$out" "$rows"
# shellcheck source=tools/device_run.sh
. tools/device_run.sh

step_mutations() {
    run 150 mutations.log "$TESTS"
}

step_training() {
    local pair
    for pair in ${TRAINING:-prefill_sm90:bf16 prefill_mma:fp16 prefill_sm90_fp8:e4m3}; do
        echo "$pair"
        run 100 training.log "$program" check --device cuda --kernel "${pair%:*}" --tile best \
            --suite training-16k --dtype "${pair#*:}" --seed "${SEED:-1}"
    done
}

step_random() {
    local file=$rows/random-checks.jsonl seed
    rm -f "$file"
    for seed in ${SEEDS:-1 2 3}; do
        run 120 random.log "$program" check --device cuda --tile "${TILE:-best}" \
            --suite "random:$seed" ${DTYPE:+--dtype "$DTYPE"} --receipts "$file"
    done
    bring random.log "$file"
}

step_predict() {
    local suite
    for suite in ${SUITES:-$(date +%Y%m%d)}; do
        rm -f "$rows/random-$suite.jsonl"
        into "$rows/random-$suite.jsonl" predict.log 120 "$program" bench --device cuda \
            --suite "random:$suite" --max-seconds 0.05
    done
}

step_ladder() {
    run 120 ladder.log "$program" check --device cuda --tile best --suite ladder
}

# shellcheck disable=SC2086
run_steps $steps
