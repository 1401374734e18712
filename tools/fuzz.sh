#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the libFuzzer targets and runs each for SECONDS: tools/fuzz.sh SECONDS
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-20}
cmake --preset asan -B build-fuzz -DRACELINE_FUZZ=ON
cmake --build build-fuzz -j "$(nproc)" --target fuzzers
for target in build-fuzz/fuzz/*_fuzz; do
    name=$(basename "$target")
    corpus=build-fuzz/corpus/$name
    mkdir -p "$corpus"
    [ -d "tests/fuzz/seeds/$name" ] && cp -n tests/fuzz/seeds/"$name"/* "$corpus"/
    echo "== $name for $seconds s"
    "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
        -artifact_prefix="build-fuzz/" "$corpus" >"build-fuzz/$name.log" 2>&1 || {
        tail -n 40 "build-fuzz/$name.log"
        exit 1
    }
    grep -E "number_of_executed_units|peak_rss" "build-fuzz/$name.log"
done
