#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The rungs track by track, step by step, beside what tools/device_ladder.sh does at once: longer
# timing, every tile, sanitizers, counters. Needs the built program only; a missing tool is reported
# and skipped.
#
#   OUT=folder tools/device_rungs.sh [program] [step ...]
#
# Steps: check bench scratch (default: all, in this order); on request sweep (from-scratch over every
# tile), sanitize (small shapes) and profile (counters of each rung's reference shape). TRACKS names
# the tracks (default: prefill decode from-scratch), MAX_SECONDS the timed work a case (default: 2).
# A shared library carried beside the program (libhwy.so.1) is found there.
set -u
program=${1:-build-cuda/raceline}
[ $# -gt 0 ] && shift
steps=${*:-check bench scratch}
out=${OUT:-device-rungs}
mkdir -p "$out"
tracks=${TRACKS:-prefill decode from-scratch}
seconds=${MAX_SECONDS:-2}
export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$(mktemp -d)}
export XDG_STATE_HOME=${XDG_STATE_HOME:-$XDG_CACHE_HOME}
here=$(cd "$(dirname "$program")" 2>/dev/null && pwd)
export LD_LIBRARY_PATH="$here${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
failed=()

if [ ! -x "$program" ]; then
    echo "device_rungs: no program at $program; build it with -DRACELINE_CUDA=ON" >&2
    exit 2
fi

# run SECONDS LOG COMMAND...: both streams into the log, its tail on the terminal.
run() {
    local limit=$1 log=$out/$2 status
    shift 2
    printf '\n$ %s\n' "$*" >>"$log"
    timeout --signal=INT --kill-after=10 "$limit" "$@" >>"$log" 2>&1
    status=$?
    echo "exit status $status" >>"$log"
    tail -n 5 "$log"
    if [ $status -ne 0 ]; then
        failed+=("$(basename "$log"): $1 ... (status $status)")
    fi
    return $status
}

# rungs TRACK...: `--kernel NAME` for every rung of these tracks that is asked for.
rungs() {
    local track
    for track in "$@"; do
        case " $tracks " in *" $track "*) ;; *) continue ;; esac
        "$program" kernels --json | grep "\"track\":\"$track\"" |
            sed -E 's/.*"kernel":"([a-z0-9_]+)".*/--kernel \1/'
    done
}

step_check() {
    local kernels
    read -r -d '' -a kernels < <(rungs prefill from-scratch)
    if [ ${#kernels[@]} -gt 0 ]; then
        run 240 check.log "$program" check --device cuda "${kernels[@]}" \
            --shape b=2,h=2,q=37,k=70,d=64,dtype=fp16 --shape b=2,h=2,q=37,k=70,d=64,dtype=fp32 \
            --shape b=1,h=2,q=70,k=37,d=128,dtype=fp16,causal \
            --shape b=1,h=2,q=150,k=150,d=64,dtype=fp16,causal \
            --shape b=1,h=2,q=300,k=300,d=128,dtype=fp32,causal \
            --shape b=1,h=2,q=129,k=1000,d=128,dtype=fp16 --shape b=1,h=2,q=1,k=513,d=64,dtype=fp16 \
            --shape b=1,h=1,q=3,k=0,d=64,dtype=fp16 --shape b=1,h=8,q=512,k=512,d=64,dtype=fp16
    fi
    read -r -d '' -a kernels < <(rungs decode)
    if [ ${#kernels[@]} -gt 0 ]; then
        run 240 check.log "$program" check --device cuda "${kernels[@]}" --suite ladder --tile best
    fi
}

step_bench() {
    local kernels
    read -r -d '' -a kernels < <(rungs prefill decode)
    run 560 bench.log "$program" bench --device cuda --suite ladder "${kernels[@]}" \
        --max-seconds "$seconds" --receipts "$out/ladder.jsonl"
    run 60 bench.log "$program" report --check "$out/ladder.jsonl"
}

step_scratch() {
    local kernels
    read -r -d '' -a kernels < <(rungs from-scratch)
    run 120 bench.log "$program" bench --device cuda --suite from-scratch "${kernels[@]}" \
        --max-seconds "$seconds" --receipts "$out/from-scratch.jsonl"
    run 60 bench.log "$program" report --check "$out/from-scratch.jsonl"
}

step_sweep() {
    local kernels
    read -r -d '' -a kernels < <(rungs from-scratch)
    run 300 sweep.log "$program" bench --device cuda --suite from-scratch "${kernels[@]}" --tile all \
        --max-seconds "$seconds" --receipts "$out/from-scratch-tiles.jsonl"
}

find_tool() {
    command -v "$1" || ls /usr/local/cuda/bin/"$1" /opt/nvidia/*/*/"$1" 2>/dev/null | head -n 1
}

step_sanitize() {
    local kernels tool sanitizer
    sanitizer=$(find_tool compute-sanitizer)
    if [ -z "$sanitizer" ]; then
        echo "compute-sanitizer: not found" | tee -a "$out/sanitizer.log"
        return
    fi
    read -r -d '' -a kernels < <(rungs prefill from-scratch)
    for tool in memcheck racecheck synccheck initcheck; do
        run 120 sanitizer.log "$sanitizer" --tool $tool --error-exitcode 9 --launch-timeout 60 \
            "$program" check --device cuda "${kernels[@]}" \
            --shape b=1,h=2,q=37,k=70,d=64,dtype=fp16,causal \
            --shape b=1,h=1,q=70,k=37,d=128,dtype=fp16
    done
}

# Bank conflicts, bytes and pipes of one launch of each __global__ of a rung.
step_profile() {
    local ncu kernel metrics
    ncu=$(find_tool ncu)
    if [ -z "$ncu" ]; then
        echo "ncu: not found" | tee -a "$out/profile.log"
        return
    fi
    metrics=l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum
    metrics+=,l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum
    metrics+=,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum,smsp__inst_executed.sum
    metrics+=,smsp__issue_active.avg.pct_of_peak_sustained_active
    metrics+=,sm__inst_executed_pipe_tensor.sum,lts__t_bytes.sum,dram__bytes_read.sum
    metrics+=,dram__bytes_write.sum,gpu__time_duration.sum
    for kernel in $(rungs prefill from-scratch | sed 's/--kernel //'); do
        run 90 profile.log "$ncu" --set detailed --metrics "$metrics" \
            -k "regex:^(scores|softmax|outputs|totals|forward)$" --launch-count 3 "$program" bench \
            --device cuda --kernel "$kernel" --launch-path stream --max-seconds 0.05 \
            --shape h=8,k=2048,d=64,dtype=fp16 --receipts "$XDG_CACHE_HOME/profile.jsonl"
    done
}

for step in $steps; do
    echo "== $step"
    if declare -F "step_$step" >/dev/null; then
        "step_$step"
    else
        failed+=("$step: no such step")
    fi
done
if [ ${#failed[@]} -gt 0 ]; then
    printf 'failed: %s\n' "${failed[@]}"
    exit 1
fi
