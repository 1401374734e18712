#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Operations beside attention on this machine's GPU: the gate over every tile, the sanitizers, the
# fixed suite and suites from seeds measured beside their predictions, the counters of these, whole
# layers, fused chains beside their steps, and PyTorch eager and compiled beside us.
#
#   OUT=folder tools/device_operations.sh [program] [step ...]
#
# Steps: check bench counters seeds layers fuse compare sanitize (default: all, in this order).
# SEEDS are those of step seeds (default 1), COUNT_SEEDS 1 profiles these as well. PYTHON names an
# interpreter with PyTorch, LIBRARY libraceline.so (default: beside the program), BUDGET the seconds
# of `compare`, TILES of `check` (default: all). cuBLASLt is found where PyTorch has it, if nowhere else.
set -u
cd "$(dirname "$0")/.." || exit 2
python=${PYTHON:-python3}
program=${1:-build/raceline}
[ $# -gt 0 ] && shift
steps=${*:-check bench counters seeds layers fuse compare sanitize}
out=${OUT:-device-operations}
library=${LIBRARY:-$(dirname "$program")/libraceline.so}
# Rows say how they were asked for: under a relative path they name no folder of this machine.
rows=build-operations
mkdir -p "$out" "$rows"
# shellcheck source=tools/device_run.sh
. tools/device_run.sh
export PYTHONUNBUFFERED=1 PYTHONWARNINGS=ignore
if ! ldconfig -p | grep -q 'libcublasLt.so.1[23]'; then
    found=$("$python" -c 'import glob, os, site
for folder in site.getsitepackages():
    for path in glob.glob(folder + "/nvidia/**/libcublasLt.so.1[23]", recursive=True):
        print(os.path.dirname(path))' | head -n 1)
    export LD_LIBRARY_PATH="$LD_LIBRARY_PATH${found:+:$found}"
fi

step_check() {
    run 150 check.log "$program" check --device cuda --tile "${TILES:-all}" --suite edges-operations
    run 150 check.log "$program" check --device cuda --tile best --suite operations
}

# measured SUITE FILE: benched into a file of its own, which comes home.
measured() {
    rm -f "$rows/$2.jsonl"
    into "$rows/$2.jsonl" bench.log 200 "$program" bench --device cuda --suite "$1" \
        --max-seconds 0.05
}

step_bench() {
    measured operations operations
}

# counted FILE: the counters of its cases, in the same file.
counted() {
    run 240 counters.log "$python" bench/counters.py --receipts "$rows/$1.jsonl" \
        --program "$program" --library "$library" --seconds 220 --suite "$2"
    bring counters.log "$rows/$1.jsonl"
}

step_counters() {
    counted operations operations
}

step_seeds() {
    local seed
    for seed in ${SEEDS:-1}; do
        measured "operations:$seed" "operations-$seed"
        [ "${COUNT_SEEDS:-0}" = 0 ] || counted "operations-$seed" "operations:$seed"
    done
}

step_layers() {
    measured layer:llama3-8b:prefill=4096 layer-prefill
    measured layer:llama3-8b:decode=64x8192 layer-decode
}

step_fuse() {
    local shape
    for shape in $("$python" tools/suite_shapes.py "$library" fused-chains); do
        run 60 fuse.log "$program" bench --device cuda --fuse "${shape#op=}" \
            --receipts "$rows/fuse.jsonl"
    done
    bring fuse.log "$rows/fuse.jsonl"
}

step_compare() {
    rm -f "$rows/compare.jsonl"
    into "$rows/compare.jsonl" compare.log 300 "$python" bench/compare.py --library "$library" \
        --suite operations --peers torch,torch_compile --seconds "${BUDGET:-240}"
}

step_sanitize() {
    sanitize 60 sanitizer.log "$program" check --device cuda --tile best --suite sanitizer-operations
}

# shellcheck disable=SC2086
run_steps $steps
