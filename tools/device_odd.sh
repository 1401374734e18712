#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the large suites leave out, on this machine's GPU: suites `decode-odd` and `operations-odd`
# measured beside their predictions, and the newest tiles on what older ones were proved with.
#
#   OUT=folder tools/device_odd.sh [program] [step ...]
#
# Steps: operations decode edges races (default: all, in this order). TILE names the tile of decode_sm90
# that edges and races are about, SHAPES further shapes of races, each split by a space.
set -u
cd "$(dirname "$0")/.." || exit 2
program=${1:-build/raceline}
[ $# -gt 0 ] && shift
steps=${*:-operations decode edges races}
out=${OUT:-device-odd}
# Rows say how they were asked for: under a relative path they name no folder of this machine.
rows=build-odd
mkdir -p "$out" "$rows"
# shellcheck source=tools/device_run.sh
. tools/device_run.sh
tile=${TILE:-headdim=64,keys=32,warps=8,stages=3,residents=1,eight_bits=1,together=0,token_scales=0}

step_operations() {
    rm -f "$rows/operations-odd.jsonl"
    into "$rows/operations-odd.jsonl" bench.log 240 "$program" bench --device cuda \
        --suite operations-odd --max-seconds 0.05
}

step_decode() {
    rm -f "$rows/decode-odd.jsonl"
    into "$rows/decode-odd.jsonl" bench.log 240 "$program" bench --device cuda --kernel decode_sm90 \
        --kernel decode_sm90_tree --suite decode-odd --max-seconds 0.05
}

step_edges() {
    run 200 edges.log "$program" check --device cuda --kernel decode_sm90 --tile all --suite edges-decode
    run 60 edges.log "$program" check --device cuda --tile all --suite sanitizer-operations
}

step_races() {
    local shape
    run 300 races.log compute-sanitizer --tool racecheck "$program" check --device cuda \
        --kernel decode_sm90 --tile "$tile" --suite sanitizer-decode-e4m3
    for shape in ${SHAPES:-}; do
        run 150 races.log compute-sanitizer --tool racecheck "$program" check --device cuda \
            --kernel decode_sm90 --tile "$tile" --shape "$shape"
    done
    run 60 races.log compute-sanitizer --tool synccheck "$program" check --device cuda \
        --kernel rows_cuda --tile all --shape op=square+rmsnorm,n=33x64,dtype=bf16
}

# shellcheck disable=SC2086
run_steps $steps
