#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the libFuzzer targets and runs each for SECONDS, as many at once as there are CPUs:
#   tools/fuzz.sh SECONDS
# What is found stays in build-asan/fuzz-artifacts, the grown corpus in build-asan/corpus.
set -eu
cd "$(dirname "$0")/.."
build=build-asan

if [ "${1:-}" = one ]; then
    target=$2
    seconds=$3
    name=$(basename "$target")
    corpus=$build/corpus/$name
    mkdir -p "$corpus"
    # New inputs go to the first folder; the second, the committed seeds, is only read.
    "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
        -artifact_prefix="$build/fuzz-artifacts/$name-" "$corpus" "tests/fuzz/seeds/$name" \
        >"$build/$name.log" 2>&1 || {
        tail -n 40 "$build/$name.log"
        exit 1
    }
    echo "== $name for $seconds s: $(grep -E 'number_of_executed_units|peak_rss' "$build/$name.log" |
        tr -s ' \n' ' ')"
    exit 0
fi

cmake --preset asan >/dev/null
cmake --build --preset asan -j "$(nproc)" --target fuzzers
mkdir -p "$build/fuzz-artifacts"
# xargs fails if any of them does.
printf '%s\n' "$build"/fuzz/*_fuzz | xargs -P "$(nproc)" -I "{}" tools/fuzz.sh one "{}" "${1:-20}"
