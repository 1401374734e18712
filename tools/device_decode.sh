#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One visit to a Hopper machine for decode_sm90, under five minutes: the gate over every tile, the
# sanitizers on small shapes, the grid of a decoder's calls, and cuDNN beside us on it. Needs the built
# program, and PyTorch for `compare`; a missing tool is reported and skipped. device_test_decode, which
# replays captured graphs with other lengths, is run if it was carried beside the program, or named by TESTS;
# so is device_host_cost, which times calls by the host's clock and makes a million of them.
#
#   OUT=folder tools/device_decode.sh [program] [step ...]
#
# Steps: check replay bench sanitize compare (default: all, in this order), and on request random (checks of
# every tile on the random suites of SEEDS, default "1 2 3", with rows), predict (those suites predicted
# and measured), serving (batches of a server drawn from SEEDS, checked
# and measured where this kernel takes them) grids (the grid in pages and over caches in e4m3, also with
# scales of tokens) and host (what a call costs the host, from C++ and, where PyTorch and the package are, Python). A shared library carried beside
# the program (libhwy.so.1) is found there. PYTHON names an interpreter with PyTorch, LIBRARY
# libraceline.so (default: beside the program), PEERS the libraries of `compare` (default: cudnn).
set -u
cd "$(dirname "$0")/.." || exit 2
python=${PYTHON:-python3}
program=${1:-build-cuda/raceline}
[ $# -gt 0 ] && shift
steps=${*:-check replay bench sanitize compare}
out=${OUT:-device-decode}
library=${LIBRARY:-$(dirname "$program")/libraceline.so}
# Rows say how they were asked for: under a relative path they name no folder of this machine.
rows=build-decode
mkdir -p "$out" "$rows"
kernel=(--device cuda --kernel decode_sm90)
# shellcheck source=tools/device_run.sh
. tools/device_run.sh
export PYTHONUNBUFFERED=1 PYTHONWARNINGS=ignore

step_check() {
    run 120 check.log "$program" check "${kernel[@]}" --tile all --suite edges-decode
    run 120 check.log "$program" check --device cuda --kernel decode_sm90_tree --tile all \
        --suite edges-decode-tree
}

step_replay() {
    local tests=${TESTS:-$here/device_test_decode}
    if [ ! -x "$tests" ]; then
        echo "device_test_decode: not found" | tee -a "$out/replay.log"
        return
    fi
    run 120 replay.log "$tests"
}

# grid SUITE: measured into a file of its own, which comes home.
grid() {
    rm -f "$rows/$1.jsonl"
    into "$rows/$1.jsonl" bench.log 120 "$program" bench "${kernel[@]}" --suite "$1" \
        --max-seconds 0.03
}

step_bench() {
    grid decode-grid
}

step_grids() {
    grid decode-grid-paged
    grid decode-grid-e4m3
    grid decode-grid-paged-e4m3
    grid decode-grid-e4m3-token
}

step_sanitize() {
    sanitize 60 sanitizer.log "$program" check "${kernel[@]}" --tile all --suite sanitizer-decode
}

step_random() {
    random_checks "$rows/random-checks.jsonl" "${kernel[@]}"
}

step_predict() {
    local seed
    for seed in ${SEEDS:-1 2 3}; do
        rm -f "$rows/random-$seed.jsonl"
        into "$rows/random-$seed.jsonl" predict.log 60 "$program" bench "${kernel[@]}" \
            --suite "random:$seed" --max-seconds 0.05
    done
}

step_serving() {
    local seed
    for seed in ${SEEDS:-1 2 3}; do
        rm -f "$rows/serving-$seed.jsonl"
        into "$rows/serving-$seed.jsonl" serving.log 300 "$program" bench "${kernel[@]}" \
            --suite "serving:$seed" --max-seconds 0.05
    done
}

step_host() {
    run 120 host.log "$here/device_host_cost"
    run 60 host.log "$python" tools/host_cost.py
}

step_compare() {
    rm -f "$rows/compare.jsonl"
    into "$rows/compare.jsonl" compare.log 200 "$python" bench/compare.py --library "$library" \
        --suite decode-grid --peers "${PEERS:-cudnn}" --seconds "${BUDGET:-150}"
}

# shellcheck disable=SC2086
run_steps $steps
