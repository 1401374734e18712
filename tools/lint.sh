#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Format, layering, types of the Python package, and clang-tidy over host files; `tools/lint.sh
# quick` leaves clang-tidy out.
set -eu
cd "$(dirname "$0")/.."
git ls-files '*.cpp' '*.hpp' '*.h' '*.c' '*.cu' '*.cuh' | xargs clang-format-19 --dry-run --Werror
cmake -DSOURCE="$PWD" -P tools/layering.cmake
# Another version finds other things: one for all, in an environment that stays.
mypy=2.4.1
tools=build-lint/venv-mypy-$mypy
[ -x $tools/bin/mypy ] || {
    python3 -m venv $tools
    $tools/bin/python -m pip install --quiet --disable-pip-version-check mypy==$mypy
}
$tools/bin/mypy
[ "${1:-}" != quick ] || exit 0
cmake --preset cpu -B build-lint -DBUILD_TESTING=OFF -DRACELINE_UNITY=OFF \
    -DCMAKE_CXX_COMPILER=clang++-19 >/dev/null
cmake --build build-lint --target build_info_files embed >/dev/null
# Kernels written in Highway are compiled once a target by including themselves; tidy reads each
# file once and cannot follow, so that it looks at everything else.
git ls-files 'src/*.cpp' 'apps/*.cpp' 'tools/*.cpp' 'kernels/*.cpp' 'ladder/*.cpp' |
    grep -v -e _nocuda -e src/support/fmt.cpp -e cuda_backend.cpp |
    xargs grep -L foreach_target |
    xargs -P "$(nproc)" -n 2 clang-tidy-19 -p build-lint --quiet --warnings-as-errors='*'
# Said, not refused: a file that must be longer says why in its review.
git ls-files '*.cpp' '*.hpp' '*.h' '*.c' '*.cu' '*.cuh' '*.cmake' '*.sh' '*.py' | xargs wc -l |
    awk '$2 != "total" && $1 > 300 {print "lint: " $2 " has " $1 " lines, the budget is 300"}'
echo "lint: clean"
