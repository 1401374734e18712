#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the program and the library for this machine, if that was not done, and installs both.
#
#   tools/install.sh PREFIX [BUILD FOLDER]
#
# Where nvcc is found, with the kernels for GPUs.
set -eu
prefix=${1:?"usage: tools/install.sh PREFIX [BUILD FOLDER]"}
cd "$(dirname "$0")/.."
build=${2:-build}
if [ -f "$build/build.ninja" ]; then
    cmake -S . -B "$build" -DRACELINE_SIMD=all # what `make demo` compiled is for this CPU alone
else
    cmake --preset auto -B "$build" -DBUILD_TESTING=OFF
fi
cmake --build "$build" --target raceline raceline_shared raceline_cli
cmake --install "$build" --prefix "$prefix" --component raceline
cmake --install "$build" --prefix "$prefix" --component program
"$prefix/bin/raceline" --version
