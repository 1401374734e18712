#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Format, layering, figures and prose of pages, types of the Python package, and clang-tidy over host files;
# `tools/lint.sh quick` leaves clang-tidy out.
set -eu
cd "$(dirname "$0")/.."
git ls-files '*.cpp' '*.hpp' '*.h' '*.c' '*.cu' '*.cuh' | xargs clang-format-19 --dry-run --Werror
cmake -DSOURCE="$PWD" -P tools/layering.cmake
# The fuzzers' build would refuse them, a quarter of an hour later.
if git grep -nE 'std::(ranges::)?(stable_sort|stable_partition|inplace_merge)\(' -- '*.cpp' '*.hpp' '*.cu' '*.cuh'; then
    echo "lint: clang calls these of libstdc++ 12 deprecated: sort by a key that is unique" >&2
    exit 1
fi
tools/figures.py
# Another version finds other things: one for all, in an environment that stays.
mypy=2.4.1
tools=build-lint/venv-mypy-$mypy
[ -x $tools/bin/mypy ] || {
    python3 -m venv $tools
    $tools/bin/python -m pip install --quiet --disable-pip-version-check mypy==$mypy
}
$tools/bin/mypy
# Words, sentences and tables of pages, help texts and messages.
codespell=2.4.3 markdown=4.3.0
tools=build-lint/venv-prose-$codespell-$markdown
[ -x $tools/bin/codespell ] || {
    python3 -m venv $tools
    $tools/bin/python -m pip install --quiet --disable-pip-version-check codespell==$codespell \
        markdown-it-py==$markdown
}
$tools/bin/python -B -m unittest -q tests/tools/test_prose.py tests/tools/test_site_pages.py
$tools/bin/python tools/prose.py
[ "${1:-}" != quick ] || exit 0
# Files that a build takes in batches are looked at in batches: most of the time goes into what their
# headers bring. All that this loses is what is asked of a main file alone (using-declarations).
cmake --preset cpu -B build-lint -DBUILD_TESTING=OFF -DRACELINE_UNITY=ON \
    -DCMAKE_CXX_COMPILER=clang++-19 >/dev/null
# Files that a build writes stand in batches, too; one of them is what the program itself prints.
cmake --build build-lint --target build_info_files embed generated/page_sources.cpp \
    generated/completion_scripts.cpp >/dev/null
# Kernels written in Highway are compiled once a target by including themselves; tidy reads each
# file once and cannot follow, so that it looks at everything else. A batch includes .cpp files.
sed -n 's/^ *"file": "\(.*\)",*$/\1/p' build-lint/compile_commands.json | sort -u |
    grep -v -e /build-lint/generated/ -e _nocuda | xargs grep -L foreach_target |
    xargs -P "$(nproc)" -n 1 clang-tidy-19 -p build-lint --quiet --warnings-as-errors='*' \
        --checks=-bugprone-suspicious-include
echo "lint: clean"
