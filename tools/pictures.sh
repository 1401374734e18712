#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Draws the pictures of docs/pictures.md from committed receipts. A test compares them with those in the tree.
#   tools/pictures.sh build/raceline FOLDER
set -eu
raceline=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
cd "$(dirname "$0")/.."
h200=receipts/h200

draw() {
    name=$1
    shift
    # What it leaves out stands in the picture.
    "$raceline" plot "$@" -o "$out/$name.svg" 2>/dev/null
}

draw roofline roofline $h200/2026-11-23-prefill_*-training-16k-4b2ec0278ce6.jsonl.gz
# Of all receipts: of some it would show what these are good at.
draw scorecard scorecard
draw compare compare $h200/2026-11-23-compare-4b2ec0278ce6.jsonl.gz
draw trajectory trajectory --track prefill $h200/2026-11-21-ladder-12c3875edbd2.jsonl.gz
draw ladder ladder --track decode $h200/2026-11-21-ladder-12c3875edbd2.jsonl.gz \
    $h200/2026-11-21-ladder-mla-5a26ba24f78d.jsonl.gz
draw sweep sweep $h200/2026-11-23-prefill_sm90-training-16k-4b2ec0278ce6.jsonl.gz
