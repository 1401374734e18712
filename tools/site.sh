#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the site of docs/ into build/site, with links and paragraphs checked: a warning is an error.
#   tools/site.sh [FOLDER]     FOLDER: where the pages go (default: build/site)
#   tools/site.sh --prepare    makes the environment and stops
# Doxygen comes from tools/bootstrap.sh docs; Python packages from docs/requirements.txt, into an
# environment that stays.
set -eu
cd "$(dirname "$0")/.."
command -v doxygen >/dev/null 2>&1 || {
    echo "site: doxygen is missing; tools/bootstrap.sh docs installs it" >&2
    exit 1
}
tools=build-lint/venv-site
cmp -s docs/requirements.txt $tools/requirements.txt || {
    if [ "${RACELINE_NO_INSTALL:-0}" = 1 ]; then
        echo "site: no $tools with the packages of docs/requirements.txt" >&2
        exit 1
    fi
    python3 -m venv $tools
    $tools/bin/python -m pip install --quiet --disable-pip-version-check -r docs/requirements.txt
    cp docs/requirements.txt $tools/requirements.txt
}
[ "${1:-}" != --prepare ] || exit 0
# MkDocs Material prints an announcement of another program otherwise.
export NO_MKDOCS_2_WARNING=1
site=${1:-build/site}
# --quiet would let warnings pass unseen.
mkdir -p "$(dirname "$site")"
$tools/bin/mkdocs build --strict --site-dir "$(realpath -m "$site")" >"$site.log" 2>&1 || {
    cat "$site.log" >&2
    exit 1
}
$tools/bin/python -B tools/site_paragraphs.py "$site"
echo "site: $(find "$site" -name '*.html' | wc -l) pages in $site"
