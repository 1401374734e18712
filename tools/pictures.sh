#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Draws the pictures of docs/pictures.md and docs/learn/ from committed receipts, and of predictions. A test compares them with those in the tree.
#   tools/pictures.sh build/raceline FOLDER
set -eu
raceline=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
cd "$(dirname "$0")/.."
h200=receipts/h200

# Of a prediction: what it prints beside its picture is in the lesson.
predict() {
    name=$1
    shift
    "$raceline" predict --device h200 "$@" -o "$out/$name.svg" >/dev/null 2>&1
}

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

# Of the lessons.
operations="$h200/2026-11-30-operations-2393069498-8ea357baf9df.jsonl.gz
    $h200/2026-11-30-operations-2393069499-8ea357baf9df.jsonl.gz
    $h200/2026-11-30-operations-2393069500-8ea357baf9df.jsonl.gz
    $h200/2026-11-30-operations-2608359435-9b78680b0290.jsonl.gz
    $h200/2026-11-30-operations-2608359436-9b78680b0290.jsonl.gz
    $h200/2026-11-30-operations-2608359437-9b78680b0290.jsonl.gz"
draw fusion fusion $h200/2026-11-28-fuse-29b9d5754e86.jsonl.gz
draw norms traffic --op add --op layernorm --op relu --op rmsnorm --op softmax $operations
draw adam traffic --op adam $operations
predict batch --op linear,n=4096,k=4096 --over m=1:4096
predict levels --shape h=8,q=2048,k=2048,d=64,dtype=fp16 --op rmsnorm,n=16384x4096 \
    --op linear,m=512,n=4096,k=4096 --kernel fused --kernel rows_cuda --kernel linear_cublaslt
