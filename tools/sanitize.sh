#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The CPU tests under the sanitizers. tools/sanitize.sh [asan|tsan]
set -eu
cd "$(dirname "$0")/.."
for preset in ${1:-asan tsan}; do
    cmake --preset "$preset"
    cmake --build --preset "$preset" -j "$(nproc)"
    # Tests that build other projects or time the machine say nothing more under a sanitizer.
    ctest --preset "$preset" -j "$(nproc)" -LE "no_sanitizer"
done
