#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a release hands out, in dist/, each tried where nothing else of it is installed:
#
#   tools/release.sh cpu cuda13 tarball
#
# cpu, cuda13: a wheel with the module, the command `raceline` and the page's panel, in a folder of its
# own, since both have one name; installed into a fresh virtual environment. tarball: the tree of HEAD,
# for CMake: taken by FetchContent, and installed and found by find_package, in two fresh projects.
# RACELINE_CUDA_ARCHS: architectures of plain device files, to try the CUDA wheel in less than hours;
# a wheel to hand out has all of them.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
version=$(sed -n 's/^project(raceline VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
python=${PYTHON:-python3}
architectures=${RACELINE_CUDA_ARCHS:-80-real;90;120-real}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM
started=$(date +%s)
made=""
mkdir -p build-python

say() {
    echo "== $* (after $(($(date +%s) - started)) s)"
}

# quietly NAME COMMAND...: what it prints goes into a file, whose end is shown if it fails.
quietly() {
    log=build-python/release-$1.log
    shift
    "$@" >"$log" 2>&1 || { tail -n 30 "$log"; echo "release: failed; all of it is in $log" >&2; exit 1; }
}

# alone PACKAGE: what its binaries load comes with it, but for the C and C++ runtimes of every system. Here
# more is installed, so that a trial would not show it.
alone() {
    for binary in "$1"/_core*.so "$1"/bin/raceline "$1"/lib*.so*; do
        ldd "$binary" | grep -v -e "=> $1/" -e 'lib\(c\|m\|stdc++\|gcc_s\|dl\|rt\|pthread\)\.so\.' \
            -e ld-linux -e linux-vdso >"$scratch/strangers" || continue
        echo "release: $(basename "$binary") loads what the wheel does not bring:" >&2
        cat "$scratch/strangers" >&2
        exit 1
    done
}

# wheel NAME CUDA [CMAKE OPTION]: built in an environment that stays, tried in one that does not.
wheel() {
    folder=dist/$1
    tools=build-python/release
    say "$folder: building the wheel, which takes minutes"
    [ -x $tools/bin/python ] || "$python" -m venv $tools
    quietly tools $tools/bin/python -m pip install --disable-pip-version-check scikit-build-core nanobind \
        'cmake>=3.26' ninja
    # Of what is linked into it, compiled into it or beside it.
    cuda=""
    [ "$2" = OFF ] || cuda=--cuda
    $tools/bin/python tools/licenses.py gather $cuda
    rm -rf "$folder"
    quietly "$1" env CMAKE_ARGS="-DRACELINE_CUDA=$2 ${3:-}" $tools/bin/python -m pip wheel -v \
        --disable-pip-version-check --no-deps --no-build-isolation -C build-dir="build-python/$1" \
        -C cmake.define.RACELINE_PAGE_MODEL=ON --wheel-dir "$folder" .
    $tools/bin/python tools/licenses.py check $cuda "$folder"/*.whl
    say "$folder: trying it in a fresh virtual environment"
    "$python" -m venv "$scratch/$1"
    "$scratch/$1/bin/python" -m pip install --quiet --disable-pip-version-check "$folder"/*.whl numpy
    alone "$("$scratch/$1/bin/python" -c 'import pathlib, raceline; print(pathlib.Path(raceline.__file__).parent)')"
    receipt=$(cd "$root" && git ls-files 'receipts/*.jsonl.gz' | head -n 1)
    (
        cd "$scratch"
        "$1/bin/raceline" --version
        "$1/bin/raceline" predict --device h200 --shape h=32/8,q=1,k=8192,d=128
        "$1/bin/raceline" check --device cpu --seed 1 --shape h=2,q=33,k=65,d=64,causal  # the package is on trial
        "$1/bin/raceline" report --html "$1.html" "$root/$receipt"
        grep -q 'id="model"' "$1.html" || { echo "release: the page lacks its what-if panel" >&2; exit 1; }
        "$1/bin/python" -c 'import numpy as np, raceline
q, k, v = (np.random.randn(1, 64, 2, 64).astype(np.float32) for _ in range(3))
print("Python:", raceline.__version__, raceline.attention(q, k, v, causal=True).shape)'
    )
    made="$made $(echo "$folder"/*.whl)"
    [ "$1" != cpu ] || as_readme_says "$1"
}

# as_readme_says NAME: README's `pip install . numpy`, as it stands there, in a fresh environment that is active. What
# the wheel of that name compiled is taken; all else is as at a reader who has no CUDA.
as_readme_says() {
    install='pip install . numpy'
    grep -qF "\`$install\`" README.md || { echo "release: README.md no longer says: $install" >&2; exit 1; }
    say "README's $install, in a fresh virtual environment"
    "$python" -m venv "$scratch/readme"
    quietly readme env PATH="$scratch/readme/bin:$PATH" VIRTUAL_ENV="$scratch/readme" CMAKE_ARGS=-DRACELINE_CUDA=OFF \
        PIP_CONFIG_SETTINGS="build-dir=build-python/$1" sh -c "$install"
    (
        cd "$scratch"
        [ "$(readme/bin/raceline --version)" = "$("$1/bin/raceline" --version)" ]
        sed -n '/^```python$/,/^```$/{/^```/d;p}' "$root/README.md" | readme/bin/python -
    )
}

# project FOLDER LINES [CMAKE OPTION]: a program that asks for a prediction, with lines that bring
# raceline. Always new, and always in the same place: ccache knows what it compiled there.
projects=$root/build-python/projects
project() {
    rm -rf "${projects:?}/$1"
    mkdir -p "$projects/$1"
    cat >"$projects/$1/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(try LANGUAGES CXX)
$2
add_executable(try try.cpp)
target_compile_options(try PRIVATE -Wall -Wextra -Werror)
target_link_libraries(try PRIVATE raceline::raceline)
END
    cat >"$projects/$1/try.cpp" <<'END'
#include <array>
#include <cstdint>
#include <cstdio>
#include <raceline/raceline.hpp>
#include <raceline/sizes.hpp>

int main() {
    raceline::SizeModel sizes("op=rmsnorm,n=1x4096,dtype=bf16", {"rows"}, "h200");
    std::printf("%s: %.3g s\n", raceline::version().c_str(), sizes.at(std::array<std::int64_t, 1>{4096}).seconds);
}
END
    quietly "$1" cmake -S "$projects/$1" -B "$projects/$1/build" -G Ninja -DCMAKE_BUILD_TYPE=Release ${3:-}
    quietly "$1" cmake --build "$projects/$1/build" --target try
    quietly "$1" "$projects/$1/build/try"
    echo "a program with raceline $(cat "build-python/release-$1.log")"
}

tarball() {
    mkdir -p dist
    [ -z "$(git status --porcelain --untracked-files=no)" ] ||
        echo "release: there are changes that are not committed: the tarball is without them" >&2
    archive=$root/dist/raceline-$version.tar.gz
    git archive --format=tar.gz --prefix="raceline-$version/" -o "$archive" HEAD
    # It holds no file of others, so that one text does.
    tar -tzf "$archive" "raceline-$version/LICENSE" >/dev/null
    say "dist: taking the tarball by FetchContent, which builds all of the library"
    project fetched "include(FetchContent)
set(RACELINE_CUDA OFF)
FetchContent_Declare(raceline URL file://$archive)
FetchContent_MakeAvailable(raceline)"
    say "dist: installing that library and finding it by find_package"
    quietly install cmake --install "$projects/fetched/build" --prefix "$scratch/prefix" --component raceline
    project found "find_package(raceline REQUIRED)" "-DCMAKE_PREFIX_PATH=$scratch/prefix"
    made="$made dist/raceline-$version.tar.gz"
}

for what in "${@:?"usage: tools/release.sh cpu|cuda13|tarball ..."}"; do
    case $what in
        cpu) wheel cpu OFF ;;
        cuda13) wheel cuda13 ON "-DRACELINE_CUDA_ARCHS=$architectures" ;;
        tarball) tarball ;;
        *) echo "release: no part $what; there are cpu, cuda13 and tarball" >&2; exit 2 ;;
    esac
done
say "made and tried"
du -h $made
