#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the Dockerfile runs, without Docker: its RUN lines as they are, but installed into a scratch
# folder instead of /usr/local, and then the command of its comment, from a folder without anything.
# tools/install.sh takes the folder build/ where there is one: after `make test` this takes seconds.
# Packages are installed by then; the test fresh_image shows what an image without any would get.
set -eu
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM
mkdir "$scratch/elsewhere"

if grep -n '^RUN .*\\$' Dockerfile >&2; then
    echo "try_dockerfile: a RUN line is one command: put the rest into a script of tools/" >&2
    exit 1
fi
sed -n 's/^RUN //p' Dockerfile | sed "s|/usr/local|$scratch/prefix|g" >"$scratch/lines"
[ -s "$scratch/lines" ] || { echo "try_dockerfile: the Dockerfile has no RUN line" >&2; exit 1; }
while read -r line; do
    echo "RUN $line" | sed "s|$scratch/||"
    sh -eu -c "$line" </dev/null
done <"$scratch/lines"

# As `docker run` does: the program that ENTRYPOINT names, found by PATH.
entry=$(sed -n 's/^ENTRYPOINT \["\([a-z]*\)"\]$/\1/p' Dockerfile)
arguments=$(sed -n 's/^#.* docker run --rm raceline //p' Dockerfile)
[ -n "$entry" ] && [ -n "$arguments" ] ||
    { echo "try_dockerfile: no ENTRYPOINT, or no \`docker run\` in the first lines" >&2; exit 1; }
cd "$scratch/elsewhere"
PATH=$scratch/prefix/bin:$PATH
[ "$(command -v "$entry")" = "$scratch/prefix/bin/$entry" ] ||
    { echo "try_dockerfile: $entry was not installed" >&2; exit 1; }
echo "$entry $arguments"
# shellcheck disable=SC2086
"$entry" $arguments
