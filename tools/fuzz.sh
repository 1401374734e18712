#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the libFuzzer targets and runs each for SECONDS, as many at once as there are CPUs:
#   tools/fuzz.sh [SECONDS]   (20)
#   tools/fuzz.sh quick       ten seconds each, built without optimisation for one SIMD target
# What is found stays in build-fuzz/fuzz-artifacts, the grown corpus in build-fuzz/corpus; of a
# quick run in build-fuzz-quick.
set -eu
cd "$(dirname "$0")/.."

if [ "${1:-}" = one ]; then
    build=$2
    seconds=$3
    seed=$4
    target=$5
    name=$(basename "$target")
    corpus=$build/corpus/$name
    mkdir -p "$corpus"
    # New inputs go to the first folder; the second, the committed seeds, is only read.
    "$target" -max_total_time="$seconds" -seed="$seed" -timeout=10 -rss_limit_mb=4096 \
        -print_final_stats=1 -artifact_prefix="$build/fuzz-artifacts/$name-" \
        "$corpus" "tests/fuzz/seeds/$name" >"$build/$name.log" 2>&1 || {
        tail -n 40 "$build/$name.log"
        exit 1
    }
    echo "== $name for $seconds s: $(grep -E 'number_of_executed_units|peak_rss' "$build/$name.log" |
        tr -s ' \n' ' ')"
    exit 0
fi

preset=fuzz
seconds=${1:-20}
seed=0 # another one each time
if [ "$seconds" = quick ]; then
    preset=fuzz-quick
    seconds=10
    seed=1 # a change that is refused should have something to do with it
fi
build=build-$preset
cmake --preset $preset >/dev/null
cmake --build --preset $preset -j "$(nproc)" --target fuzzers
mkdir -p "$build/fuzz-artifacts"
# Not found by itself under its Debian name; without it a finding is addresses.
export ASAN_OPTIONS=external_symbolizer_path=/usr/lib/llvm-19/bin/llvm-symbolizer
# xargs fails if any of them does.
printf '%s\n' "$build"/fuzz/*_fuzz |
    xargs -P "$(nproc)" -I "{}" tools/fuzz.sh one "$build" "$seconds" $seed "{}"
