#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# raceline beside cuDNN, FlashAttention-2, -3 and -4 (and FlashInfer) on this machine's GPU: the table of
# training-16k, its receipts, and their check, in about three minutes.
#
#   OUT=folder tools/device_compare.sh [libraceline.so] [option of bench/compare.py ...]
#
# PEERS (default cudnn,fa2,fa3,fa4) names the peers; SITE is where tools/device_peers.sh installed
# wheels, FA3 where tools/peer_fa3.sh built FlashAttention-3 (default build-peers/fa3/hopper);
# BUDGET (default 200) is the time in seconds after which no further shape is started. With
# flashinfer among the peers its kernels are compiled first, all head dims side by side. A shared
# library carried beside ours (libhwy.so.1) is found there.
set -u
cd "$(dirname "$0")/.."
library=${1:-build-cuda/libraceline.so}
[ $# -gt 0 ] && shift
out=${OUT:-device-compare}
peers=${PEERS:-cudnn,fa2,fa3,fa4}
fa3=${FA3:-build-peers/fa3/hopper}
site=${SITE:-build-peers/site}
budget=${BUDGET:-200}
python=${PYTHON:-python3}
mkdir -p "$out"
here=$(cd "$(dirname "$library")" 2>/dev/null && pwd)
export LD_LIBRARY_PATH="$here${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export XDG_STATE_HOME=${XDG_STATE_HOME:-$(mktemp -d)} PYTHONUNBUFFERED=1 PYTHONWARNINGS=ignore

if [ ! -f "$library" ]; then
    echo "device_compare: no library at $library; build raceline_shared with CUDA" >&2
    exit 2
fi
if [ -d "$fa3" ]; then
    PYTHONPATH="$(cd "$fa3" && pwd)${PYTHONPATH:+:$PYTHONPATH}"
    export PYTHONPATH
fi
compare=("$python" bench/compare.py --library "$library")
if [ -d "$site" ]; then
    compare+=(--site "$site")
fi

if [[ ",$peers," == *,flashinfer,* ]]; then
    echo "== compiling flashinfer"
    for d in 64 128 256; do
        timeout 240 "${compare[@]}" --peers flashinfer --receipts "$XDG_STATE_HOME/warm-$d.jsonl" \
            --suite "warm-up:$d" >"$out/flashinfer-$d.log" 2>&1 &
    done
    wait
    tail -n 2 "$out"/flashinfer-*.log
fi

# Rows say how they were asked for: under a relative path they name no folder of this machine.
rows=build-peers/compare.jsonl
mkdir -p build-peers
rm -f "$rows"
timeout --signal=INT --kill-after=20 $((budget + 60)) "${compare[@]}" --suite training-16k \
    --peers "$peers" --receipts "$rows" --seconds "$budget" "$@" 2>&1 |
    tee "$out/compare.log"
status=${PIPESTATUS[0]}
if [ -x "$here/raceline" ]; then
    "$here/raceline" report --check "$rows" || status=1
fi
cp "$rows" "$out/compare.jsonl"
echo "status $status, $(wc -l <"$out/compare.jsonl" 2>/dev/null || echo 0) rows in $out/compare.jsonl"
exit "$status"
