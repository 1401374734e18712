#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The CPU tests under the sanitizers. tools/sanitize.sh [asan|tsan]
set -eu
cd "$(dirname "$0")/.."
for preset in ${1:-asan tsan}; do
    cmake --preset "$preset"
    cmake --build --preset "$preset" -j "$(nproc)"
    # Left out: tests that build other projects (labelled), and one that compares measured rates,
    # which under a sanitizer are the sanitizer's. Under the thread sanitizer, ten times slower, so
    # are repetitions: the probes run once in another test, the commands in the other tests of cli.
    skip='CpuProbe\.ValuesStand'
    [ "$preset" != tsan ] || skip="$skip|CpuProbe\.NamesAreTheSame|Help\.every_example"
    ctest --preset "$preset" -j "$(nproc)" -LE no_sanitizer -E "$skip"
done
