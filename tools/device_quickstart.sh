#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything a first visit to a GPU machine is for, in one command: ceilings, the gate, the
# quickstart benchmark, compute-sanitizer, profiles. Needs the built program only; a missing tool
# is reported and skipped. At most eight files are left in $OUT.
#
#   OUT=folder tools/device_quickstart.sh [program] [step ...]
#
# Steps: environment measure check proof api bench sanitize profile (default: all, in this order). The
# step proof runs device_test_proof, which takes every kernel through the gate, and api runs
# device_test_api, the API's test, if they were carried beside the program. A shared library carried
# beside the program (libhwy.so.1) is found there.
set -u
program=${1:-build-cuda/raceline}
[ $# -gt 0 ] && shift
steps=${*:-environment measure check proof api bench sanitize profile}
out=${OUT:-device-quickstart}
mkdir -p "$out"
kernels=(--kernel simt --kernel naive)
largest=$((15 * 1024 * 1024))
# Ceilings are kept in a cache folder of their own, so that they can be brought home.
# shellcheck source=tools/device_run.sh
. "$(dirname "$0")/device_run.sh"

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

# carried SECONDS TEST: a test program, if it lies beside the program.
carried() {
    if [ -x "$here/$2" ]; then
        run "$1" check.log "$here/$2"
    else
        echo "$2: not beside the program" | tee -a "$out/check.log"
    fi
}

step_proof() { carried 200 device_test_proof; }

step_api() { carried 60 device_test_api; }

step_bench() {
    run 300 bench.log "$program" bench --suite quickstart --device cuda "${kernels[@]}" \
        --receipts "$out/quickstart.jsonl"
    run 60 bench.log "$program" report --check "$out/quickstart.jsonl"
}

step_sanitize() {
    sanitize 90 sanitizer.log "$program" check --device cuda "${kernels[@]}" --suite sanitizer-portable
}

# profile LAUNCHES KERNEL NAMES SUITE: with what step_profile has set.
profile() {
    run 90 "$log" "$ncu" --set detailed --metrics "$metrics" -k "regex:$3" --launch-count "$1" \
        "$program" bench --device cuda --kernel "$2" --launch-path stream --max-seconds 0.05 \
        --suite "$4" --receipts "$XDG_CACHE_HOME/profile.jsonl"
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
    profile 2 simt '^(forward|merge)$' portable-profile:128
    profile 1 simt '^forward$' portable-profile:64
    profile 3 naive '^(scores|softmax|outputs)$' portable-profile:64
}

# What would be too large to bring home keeps its end, which holds the verdict.
step_shorten() {
    local log
    for log in "$out"/*.log "$out"/*.txt; do
        if [ -f "$log" ] && [ "$(stat -c %s "$log")" -gt $largest ]; then
            tail -c $largest "$log" >"$log.tail" && mv "$log.tail" "$log"
        fi
    done
}

# shellcheck disable=SC2086
run_steps $steps shorten
