#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One visit to a Hopper machine for prefill_sm90 or prefill_mma, under four minutes: the gate over
# every tile, the sanitizers on small shapes, then training-16k. Needs the built program only; a
# missing tool is reported and skipped.
#
#   OUT=folder [KERNEL=prefill_mma] tools/device_prefill.sh [program] [step ...]
#
# Steps: check bench sanitize (default: all, in this order), and on request sweep (every tile on
# training-16k: what the dispatcher could have chosen), random (checks of every tile on the random
# suites of SEEDS, default "1 2 3", with rows), errors (beside FlashAttention-2's on random calls:
# bench/errors.py), counters (hardware counters of rows that `bench` wrote, as rows behind them),
# profile (more counters of the longest shapes and, of prefill_sm90, of short ones, as a log) and
# samples (where the warps of these launches stand, by the program counter: bench/samples.py).
# TESTS=path of device_test_kernels adds the cases that the command line cannot name (strides). A
# shared library carried beside the program (libhwy.so.1) is found there. PYTHON names an
# interpreter, LIBRARY libraceline.so (default: beside the program) for `errors` and `counters`.
set -u
cd "$(dirname "$0")/.." || exit 2
python=${PYTHON:-python3}
program=${1:-build-cuda/raceline}
[ $# -gt 0 ] && shift
steps=${*:-check bench sanitize}
out=${OUT:-device-prefill}
library=${LIBRARY:-$(dirname "$program")/libraceline.so}
# Rows say how they were asked for: under a relative path they name no folder of this machine.
rows=build-prefill
mkdir -p "$out" "$rows"
name=${KERNEL:-prefill_sm90}
kernel=(--device cuda --kernel "$name")
# shellcheck source=tools/device_run.sh
. tools/device_run.sh

# In three calls, so that a broken head dim does not hide the others.
step_check() {
    local d
    for d in 64 128 256; do
        run 60 check.log "$program" check "${kernel[@]}" --tile all --suite "edges:$d"
    done
    if [ -n "${TESTS:-}" ]; then
        run 90 check.log "$TESTS"
    fi
}

step_bench() {
    rm -f $rows/training-16k.jsonl
    into $rows/training-16k.jsonl bench.log 90 "$program" bench "${kernel[@]}" \
        --suite training-16k --max-seconds 0.1
}

step_sweep() {
    rm -f $rows/sweep.jsonl
    into $rows/sweep.jsonl sweep.log 420 "$program" bench "${kernel[@]}" --suite training-16k \
        --tile all --max-seconds 0.05
}

step_random() {
    random_checks $rows/random-checks.jsonl "${kernel[@]}"
}

step_errors() {
    rm -f $rows/errors.jsonl
    into $rows/errors.jsonl errors.log 150 "$python" bench/errors.py --library "$library" \
        --kernel "$name" --cases "${CASES:-300}" --seconds 120
}

# The shortest and the longest calls of every head dim and mask.
step_counters() {
    into $rows/training-16k.jsonl counters.log 120 "$python" bench/counters.py \
        --program "$program" --library "$library" --suite lengths-ends --seconds 100
}

# under_ncu SECONDS LOG SUITE TILE OPTION...: one launch of a call, alone, under the profiler `ncu`.
under_ncu() {
    local limit=$1 log=$2 suite=$3 tile=$4
    shift 4
    run "$limit" "$log" "$ncu" --clock-control none -k regex:^forward --launch-skip 2 \
        --launch-count 1 "$@" "$program" bench "${kernel[@]}" --launch-path stream \
        --max-seconds 0.02 --suite "$suite" ${tile:+--tile "$tile"} \
        --receipts "$XDG_CACHE_HOME/profiled.jsonl" </dev/null
}

# Counters of single launches: what the pipes do, what the memory system does, what the warps wait
# for. Inputs are cold (ncu empties the caches). Clocks are left alone: a profiled launch stands
# alone and runs faster than many in a row.
step_profile() {
    local ncu suite tile reason metrics
    ncu=$(find_tool ncu)
    if [ -z "$ncu" ]; then
        echo "ncu: not found" | tee -a "$out/profile.log"
        return
    fi
    metrics=sm__cycles_elapsed.max,sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active
    metrics+=,sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active
    metrics+=,sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active
    metrics+=,smsp__issue_active.avg.pct_of_peak_sustained_active,dram__bytes.sum
    metrics+=,lts__t_sectors.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
    metrics+=,gpu__time_duration.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed
    metrics+=,gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed
    metrics+=,breakdown:gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed
    for reason in barrier gmma long_scoreboard short_scoreboard math_pipe_throttle wait \
        mio_throttle dispatch_stall sleeping not_selected membar no_instruction branch_resolve; do
        metrics+=,smsp__average_warps_issue_stalled_${reason}_per_issue_active.ratio
    done
    while read -r suite tile; do
        under_ncu 40 profile.log "$suite" "$tile" --metrics "$metrics"
    done < <("profiled_$name")
}

# Of the same launches samples of the program counter, as a table of stretches of code.
step_samples() {
    local ncu suite tile number=0 file
    ncu=$(find_tool ncu)
    if [ -z "$ncu" ]; then
        echo "ncu: not found" | tee -a "$out/samples.log"
        return
    fi
    while read -r suite tile; do
        number=$((number + 1))
        file=$XDG_CACHE_HOME/samples-$number
        under_ncu 60 samples.log "$suite" "$tile" --section SourceCounters \
            --warp-sampling-interval 0 --warp-sampling-buffer-size 536870912 -f -o "$file" &&
            "$ncu" --import "$file.ncu-rep" --page source --print-source sass --csv >"$file.csv" &&
            run 20 samples.log "$python" bench/samples.py "$file.csv"
    done < <("profiled_$name")
}

# Of what the last two look at, the suite's part, which is one shape, and the tile; no tile: the one
# that a call would get.
profiled_prefill_sm90() {
    cat <<'END'
lengths-longest-full:64 headdim=64,rows=192,keys=128,stages=2,turns=1
lengths-longest-full:64 headdim=64,rows=256,keys=64,stages=4,turns=0
lengths-longest-full:128 headdim=128,rows=192,keys=64,stages=3,turns=0
lengths-longest-full:256 headdim=256,rows=128,keys=64,stages=2,turns=0
lengths-shortest-full:128
lengths-shortest-causal:128
lengths-shortest-full:256
lengths-shortest-causal:256
END
}
profiled_prefill_mma() {
    cat <<'END'
lengths-longest-full:64 headdim=64,rows=128,keys=64,stages=2,q_registers=0,residents=3
lengths-longest-full:64 headdim=64,rows=128,keys=64,stages=2,q_registers=1
lengths-longest-full:128 headdim=128,rows=128,keys=64,warps=4,stages=2
lengths-longest-full:128 headdim=128,rows=256
lengths-longest-full:256 headdim=256,rows=64,keys=64
lengths-longest-full:256 headdim=256,rows=128,keys=64
END
}

step_sanitize() {
    local suite=sanitizer
    if [ "$name" = prefill_sm90_fp8 ]; then
        suite=sanitizer-e4m3
    fi
    sanitize 40 sanitizer.log "$program" check "${kernel[@]}" --tile all --suite $suite
}

# shellcheck disable=SC2086
run_steps $steps
