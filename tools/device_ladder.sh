#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The rungs and prefill_mma on this machine's GPU: the gate on small shapes, then the suites that the
# rungs are measured on. What fails is named at the end; nothing stops at the first failure.
#
#   OUT=folder tools/device_ladder.sh [program]
set -u
cd "$(dirname "$0")/.."
program=$(realpath "${1:-build/raceline}")
out=${OUT:-device-ladder}
mkdir -p "$out"
export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$(mktemp -d)}
export XDG_STATE_HOME=${XDG_STATE_HOME:-$XDG_CACHE_HOME}
cd "$out" || exit 2
failed=()
run() {
    local limit=$1 log=$2
    shift 2
    printf '\n$ %s\n' "$*" >>"$log"
    timeout --signal=INT --kill-after=10 "$limit" "$program" "$@" >>"$log" 2>&1 ||
        failed+=("$log: $*")
}

"$program" measure --device cuda >measure.log 2>&1 || failed+=("measure.log")
rungs=$("$program" kernels | awk '$1 ~ /^(tiled|online|fused|wmma|splitkv|paged|gqa.*|fp8_kv|mla.*|nvfp4_kv|minimal|block|warp|light_barriers|tensor_cores|wide_vectors)$/ {print $1}' | sort -u)
for rung in $rungs; do
    run 30 check.log check --device cuda --kernel "$rung" --tile all \
        --shape b=2,h=4,q=100,k=100,d=64,dtype=fp16 --shape b=1,h=2,q=130,k=130,d=64,dtype=fp16,causal \
        --shape b=1,h=8,q=512,k=512,d=64,dtype=fp16 --shape b=1,h=2,q=77,k=77,d=128,dtype=fp32,causal \
        --shape b=2,h=8/2,q=1,k=1000,d=128,dtype=fp16 --shape b=2,h=8/2,q=1,k=1000,d=64,dtype=fp16,page=64 \
        --shape b=2,h=8/2,q=1,k=1000,d=128,dtype=fp16,kv=e4m3,page=64 --shape b=1,h=8,q=1,k=3001,d=128,dtype=fp32 \
        --shape b=2,h=8/2,q=1,k=1000,d=128,dtype=fp16,kv=nvfp4,page=64 --shape b=1,h=29/1,q=1,k=333,d=64,dtype=fp16,kv=nvfp4 \
        --shape b=2,h=128,q=1,k=1000,mla=512+64,dtype=fp16,page=64 --shape b=1,h=70,q=1,k=333,mla=512+64,dtype=fp16
done
run 60 check.log check --device cuda --kernel prefill_mma --tile all \
    --shape b=2,h=4/2,q=300,k=300,d=64,dtype=bf16,causal --shape b=1,h=2,q=129,k=257,d=128,dtype=fp16 \
    --shape b=1,h=2,q=100,k=333,d=256,dtype=bf16,causal --shape b=1,h=2,q=70,k=200,d=192/128,dtype=bf16 \
    --shape b=4,h=4/2,q=300\;1\;129\;0,k=300\;70\;129\;5,d=128,dtype=bf16,causal \
    --shape b=1,h=2,q=600,k=600,d=64,dtype=bf16,window=100
run 400 bench.log bench --device cuda --suite ladder --max-seconds 0.05 --receipts ladder.jsonl
# Splits from one to thousands: every tile is another number of them.
run 60 bench.log bench --device cuda --kernel splitkv --kernel gqa --kernel gqa_scorestationary --tile all \
    --shape h=1,q=1,k=1048576,d=128,dtype=fp16 --shape h=32/8,q=1,k=131072,d=128,dtype=fp16 \
    --max-seconds 0.05 --receipts splits.jsonl
run 40 bench.log bench --device cuda --suite from-scratch --max-seconds 0.1 --receipts from-scratch.jsonl
run 60 bench.log bench --device cuda --suite training-16k --kernel prefill_mma --max-seconds 0.05 \
    --receipts prefill-mma.jsonl
for file in ladder.jsonl splits.jsonl from-scratch.jsonl prefill-mma.jsonl; do
    run 30 bench.log report --check "$file"
done
tail -n 3 check.log bench.log
if [ ${#failed[@]} -gt 0 ]; then
    printf 'failed: %s\n' "${failed[@]}"
    exit 1
fi
