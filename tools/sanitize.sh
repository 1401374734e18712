#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The CPU tests under the sanitizers.
#   tools/sanitize.sh [asan|tsan]   all of them, under both or one
#   tools/sanitize.sh quick         asan, and what reads bytes that others wrote alone: receipts,
#                                   shapes, arguments of calls, and the CPU kernels behind them
set -eu
cd "$(dirname "$0")/.."
if [ "${1:-}" = quick ]; then
    tests="test_receipt test_workload test_api"
    cmake --preset asan >/dev/null
    # shellcheck disable=SC2086  # a list of targets
    cmake --build --preset asan -j "$(nproc)" --target $tests
    for test in $tests; do
        build-asan/tests/"$test" --gtest_brief=1
    done
    exit 0
fi
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
