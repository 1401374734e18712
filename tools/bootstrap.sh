#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian/Ubuntu packages that a step needs and this machine lacks.
#   tools/bootstrap.sh build|docs|test|lint|sanitize|python|page
# `page` is for the what-if panel of `raceline report --html`; `test` has all of it, too.
# For tests, also the Python packages of tests/*/requirements.txt, in build-venv/, and those of
# docs/requirements.txt, where tools/site.sh keeps them.
# Prints them first; uses sudo when not root; RACELINE_NO_INSTALL=1 only names what is missing.
set -eu
cd "$(dirname "$0")/.."

build="g++ cmake ninja-build libhwy-dev libcli11-dev nlohmann-json3-dev libfmt-dev libmd-dev"
build="$build libjs-vega zlib1g-dev libcsv-dev gnuplot-nox"
# Not needed to build, but a second build takes a fraction with it: CMake uses it where it is found.
if [ "${RACELINE_NO_INSTALL:-0}" != 1 ] && ! command -v ccache >/dev/null 2>&1; then
    build="$build ccache"
fi
# Debian's Python makes virtual environments, and has headers, only with packages of its own; others
# bring all.
venv=""
python3 -c 'import ensurepip, venv' 2>/dev/null || venv=" python3-venv"
headers=""
python3 -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ||
    headers=" python3-dev"
tested="$build libgtest-dev libgmock-dev libdnnl-dev git"
page="$build emscripten"
test="$tested emscripten chromium chromium-driver fonts-dejavu-core doxygen zsh fish$venv$headers"
docs="$build doxygen git$venv"
sanitize="$tested clang-19 libomp-19-dev libclang-rt-19-dev llvm-19"
lint="$sanitize clang-format-19 clang-tidy-19$venv"
python="$page binutils$venv"

case "${1:-}" in
    build) wanted=$build ;;
    docs) wanted=$docs ;;
    test) wanted=$test ;;
    lint) wanted=$lint ;;
    sanitize) wanted=$sanitize ;;
    python) wanted=$python ;;
    page) wanted=$page ;;
    *) echo "usage: tools/bootstrap.sh build|docs|test|lint|sanitize|python|page" >&2; exit 2 ;;
esac

# Versions are fixed: another one draws other inputs from a seed.
python_packages() {
    [ "$1" = test ] || return 0
    wanted="tests/bad_input/requirements.txt tests/page/requirements.txt"
    # shellcheck disable=SC2086
    if cat $wanted | cmp -s - build-venv/requirements.txt; then
        return 0
    fi
    if [ "${RACELINE_NO_INSTALL:-0}" = 1 ]; then
        echo "raceline: no build-venv/ with the packages of $wanted: bad input and pages are not tested" >&2
        return 0
    fi
    echo "raceline: installing the Python packages of $wanted into build-venv/"
    python3 -m venv build-venv
    for file in $wanted; do
        build-venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$file"
    done
    # shellcheck disable=SC2086
    cat $wanted >build-venv/requirements.txt
}

# The test of the site wants the environment of tools/site.sh; without a network it is left out.
site_packages() {
    [ "$1" = test ] && [ "${RACELINE_NO_INSTALL:-0}" != 1 ] || return 0
    tools/site.sh --prepare || echo "raceline: no packages of docs/requirements.txt: the site is not tested" >&2
}

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "raceline: no dpkg here: install the equivalents of: $wanted" >&2
    python_packages "$1"
    site_packages "$1"
    exit 0
fi

missing=""
for package in $wanted; do
    state=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
    [ "$state" = "install ok installed" ] || missing="$missing $package"
done
if [ -z "$missing" ]; then
    python_packages "$1"
    site_packages "$1"
    exit 0
fi

sudo=""
[ "$(id -u)" = 0 ] || sudo="sudo"
install="apt-get install -y --no-install-recommends$missing"
if [ "${RACELINE_NO_INSTALL:-0}" = 1 ]; then
    echo "raceline: missing packages:$missing" >&2
    echo "raceline: install them with: ${sudo:+$sudo }$install" >&2
    exit 1
fi
echo "raceline: installing$missing"
export DEBIAN_FRONTEND=noninteractive
# A fresh image has no package lists, or old ones that name versions no longer served.
${sudo:+$sudo --preserve-env=DEBIAN_FRONTEND} apt-get update -qq
${sudo:+$sudo --preserve-env=DEBIAN_FRONTEND} $install -qq
python_packages "$1"
site_packages "$1"
