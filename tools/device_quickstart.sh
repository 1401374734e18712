#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything a first visit to a GPU machine is for, in one command: ceilings, the gate, the
# quickstart benchmark, compute-sanitizer, profiles. Needs the built program only; a missing tool
# is reported and skipped. At most eight files are left in $OUT.
#
#   OUT=folder tools/device_quickstart.sh [program] [step ...]
#
# Steps: environment measure check api bench sanitize profile (default: all, in this order). The step
# api runs device_test_api, the API's test, if it was carried beside the program. A shared
# library carried beside the program (libhwy.so.1) is found there.
set -u
program=${1:-build-cuda/raceline}
[ $# -gt 0 ] && shift
steps=${*:-environment measure check api bench sanitize profile}
out=${OUT:-device-quickstart}
mkdir -p "$out"
kernels=(--kernel simt --kernel naive)
largest=$((15 * 1024 * 1024))
# Ceilings are kept in a cache folder of their own, so that they can be brought home.
export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$(mktemp -d)}
export XDG_STATE_HOME=${XDG_STATE_HOME:-$XDG_CACHE_HOME}
here=$(cd "$(dirname "$program")" 2>/dev/null && pwd)
export LD_LIBRARY_PATH="$here${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
failed=()

if [ ! -x "$program" ]; then
    echo "device_quickstart: no program at $program; build it with -DRACELINE_CUDA=ON" >&2
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
        failed+=("$(basename "$log"): $* (status $status)")
    fi
    return $status
}

# find_tool NAME: on PATH or where the toolkit puts it.
find_tool() {
    command -v "$1" || ls /usr/local/cuda/bin/"$1" /opt/nvidia/*/*/"$1" 2>/dev/null | head -n 1
}

step_environment() {
    local log=environment.txt smi
    smi=$(find_tool nvidia-smi)
    if [ -n "$smi" ]; then
        run 30 $log "$smi" -q -d CLOCK,POWER,PERFORMANCE,MEMORY
    else
        echo "nvidia-smi: not found" | tee -a "$out/$log"
    fi
    run 30 $log "$program" devices
    run 30 $log "$program" kernels
}

step_measure() {
    run 180 measure.log "$program" measure --device cuda
    cat "$XDG_CACHE_HOME"/raceline/ceilings-*.jsonl >"$out/ceilings.jsonl" 2>/dev/null ||
        rm -f "$out/ceilings.jsonl"
}

step_check() {
    run 300 check.log "$program" check --suite quickstart --device cuda "${kernels[@]}"
}

step_api() {
    if [ -x "$here/device_test_api" ]; then
        run 60 check.log "$here/device_test_api"
    else
        echo "device_test_api: not beside the program" | tee -a "$out/check.log"
    fi
}

step_bench() {
    run 300 bench.log "$program" bench --suite quickstart --device cuda "${kernels[@]}" \
        --receipts "$out/quickstart.jsonl"
    run 60 bench.log "$program" report --check "$out/quickstart.jsonl"
}

# Small shapes: a sanitizer slows a kernel down a hundredfold.
step_sanitize() {
    local log=sanitizer.log tool sanitizer
    sanitizer=$(find_tool compute-sanitizer)
    if [ -z "$sanitizer" ]; then
        echo "compute-sanitizer: not found" | tee -a "$out/$log"
        return
    fi
    for tool in memcheck racecheck synccheck initcheck; do
        run 90 $log "$sanitizer" --tool $tool --error-exitcode 9 --launch-timeout 60 "$program" \
            check --device cuda "${kernels[@]}" \
            --shape b=2,h=4/2,q=37,k=70,d=64,dtype=fp32,causal \
            --shape b=1,h=2,q=33,k=65,d=64,dtype=fp16,causal \
            --shape "b=3,h=8/2,q=1,k=100;517;7,d=128,dtype=bf16,page=64" \
            --shape b=2,h=4/2,q=5,k=90,d=72/40,dtype=bf16,window=20,softcap=30,sinks \
            --shape b=1,h=16/1,q=1,k=133,mla=512+64,dtype=bf16
    done
}

# profile LAUNCHES KERNEL NAMES SHAPE: with what step_profile has set.
profile() {
    run 90 "$log" "$ncu" --set detailed --metrics "$metrics" -k "regex:$3" --launch-count "$1" \
        "$program" bench --device cuda --kernel "$2" --launch-path stream --max-seconds 0.05 \
        --shape "$4" --receipts "$XDG_CACHE_HOME/profile.jsonl"
}

step_profile() {
    local log=profile.log ncu
    ncu=$(find_tool ncu)
    if [ -z "$ncu" ]; then
        echo "ncu: not found" | tee -a "$out/$log"
        return
    fi
    # The program's own fills come first: kernels are chosen by the names of their __global__s. Bank
    # conflicts (replays of shared-memory accesses) and issue slots are what the sets leave out.
    local metrics=smsp__issue_active.avg.pct_of_peak_sustained_active
    metrics+=,smsp__inst_executed.sum,smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio
    metrics+=,l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum
    metrics+=,l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum
    metrics+=,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
    profile 2 simt '^(forward|merge)$' b=4,h=32/8,q=1,k=8192,d=128,dtype=bf16
    profile 1 simt '^forward$' h=4,q=2048,k=2048,d=64,dtype=fp32
    profile 3 naive '^(scores|softmax|outputs)$' h=4,q=2048,k=2048,d=64,dtype=fp32
}

for step in $steps; do
    echo "== $step"
    if declare -F "step_$step" >/dev/null; then
        "step_$step"
    else
        failed+=("$step: no such step")
    fi
done

# What would be too large to bring home keeps its end, which holds the verdict.
for log in "$out"/*.log "$out"/*.txt; do
    if [ -f "$log" ] && [ "$(stat -c %s "$log")" -gt $largest ]; then
        tail -c $largest "$log" >"$log.tail" && mv "$log.tail" "$log"
    fi
done
echo "== $(ls "$out" | wc -l) files in $out"
if [ ${#failed[@]} -gt 0 ]; then
    printf 'failed: %s\n' "${failed[@]}"
    exit 1
fi
