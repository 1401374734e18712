#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Decode over pages beside FlashInfer and XQA on this machine's GPU: decode-grid-paged in bf16 and
# over e4m3 caches, each side captured in a graph, each answer judged by the gate.
#
#   tools/device_decode_peers.sh pack ARCHIVE WHEEL ...      of FlashInfer and what it imports, some 16 MB
#   OUT=folder tools/device_decode_peers.sh run ARCHIVE LIBRARY [suite ...]    there: PyTorch, nvcc, ninja
#
# `run` unpacks into build-peers/, compiles the kernels of both side by side (they are compiled at first use),
# then compares on each suite, which starts no further shape after BUDGET seconds (default 120); ONLY=d=64
# takes shapes whose text contains that. A shared
# library carried beside ours (libhwy.so.1) is found there. What is packed keeps its licence and never
# enters this project.
set -eu
cd "$(dirname "$0")/.."
case ${1:-} in
    pack)
        archive=${2:?"usage: tools/device_decode_peers.sh pack ARCHIVE WHEEL ..."}
        shift 2
        work=$(mktemp -d)
        trap 'rm -rf "$work"' EXIT
        for wheel in "$@"; do
            python3 -m zipfile -e "$wheel" "$work/flashinfer"
        done
        data=$work/flashinfer/flashinfer/data
        mkdir "$work/kept"
        (cd "$data/csrc" && cp -r batch_decode* batch_prefill* single_* ./*.h xqa flashinfer_xqa_binding.cu "$work/kept")
        rm -rf "$data/csrc"
        find "$work/flashinfer/flashinfer/experimental" -type f ! -name '*.py' -delete
        mv "$work/kept" "$data/csrc"
        tar c -C "$work" flashinfer | xz -T0 -3 >"$archive"
        ls -l "$archive"
        exit
        ;;
    run) ;;
    *)
        sed -n '3,13p' "$0"
        exit 2
        ;;
esac
archive=$2 library=$3
shift 3
suites=${*:-decode-grid-paged decode-grid-paged-e4m3}
out=${OUT:-device-decode-peers}
python=${PYTHON:-python3}
mkdir -p "$out" build-peers
tar xJf "$archive" -C build-peers
PYTHONPATH=$PWD/build-peers/flashinfer${PYTHONPATH:+:$PYTHONPATH}
here=$(cd "$(dirname "$library")" && pwd)
LD_LIBRARY_PATH=$here${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
XDG_STATE_HOME=$(mktemp -d)
export PYTHONPATH LD_LIBRARY_PATH XDG_STATE_HOME PYTHONUNBUFFERED=1 PYTHONWARNINGS=ignore MAX_JOBS=4

echo "== compiling"
started=$SECONDS
for shape in $("$python" tools/suite_shapes.py "$library" warm-up-decode); do
    for peer in flashinfer_decode xqa; do
        log=$peer-${shape//[\/=,]/_}
        timeout 300 "$python" bench/compare.py --library "$library" --peers "$peer" --no-profiler \
            --receipts "$XDG_STATE_HOME/$log.jsonl" --shape-seconds 0.05 --shape "$shape" \
            >"$out/compile-$log.log" 2>&1 &
    done
done
wait
echo "== $((SECONDS - started)) s"
grep -h "left out\|not compared\|Error" "$out"/compile-*.log | sort | uniq -c || true

# Rows say how they were asked for: under a relative path they name no folder of this machine.
status=0
for suite in $suites; do
    rows=build-peers/$suite.jsonl
    rm -f "$rows"
    timeout --signal=INT --kill-after=20 $((${BUDGET:-120} + 60)) "$python" bench/compare.py \
        --library "$library" --suite "$suite" --peers flashinfer_decode,xqa --receipts "$rows" \
        --seconds "${BUDGET:-120}" --only "${ONLY:-}" 2>&1 | tee "$out/$suite.log"
    [ "${PIPESTATUS[0]}" = 0 ] || status=1
    xz -9e <"$rows" >"$out/$suite.jsonl.xz"
done
tar cJf "$out/compile-logs.tar.xz" -C "$out" --remove-files $(cd "$out" && ls compile-*.log)
exit $status
