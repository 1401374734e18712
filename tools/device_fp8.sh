#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One visit to a Hopper machine for prefill_sm90_fp8, some six minutes: the gate over every tile,
# every tile on training-16k in e4m3 (what the dispatcher could have chosen is in it), cuBLASLt's
# e4m3 product and our own bf16 in the same run, sanitizers on small shapes, counters of one shape.
# A missing tool is reported and skipped.
#
#   OUT=folder tools/device_fp8.sh [program] [step ...]
#
# Steps: check product bench bf16 sanitize profile (default: all, in this order), and on request
# chosen (the model's tile of every shape alone), lengths (every tile at three lengths) and random
# (checks of every tile on the random suites of SEEDS, default "1 2 3", with rows). A shared library
# carried beside the program (libhwy.so.1) is found there. PYTHON names an interpreter with PyTorch,
# LIBRARY libraceline.so (default: beside the program) for the product's rows; TESTS=path of
# device_test_api adds calls through the public API, repeated bit for bit.
set -u
cd "$(dirname "$0")/.."
program=${1:-build-cuda/raceline}
[ $# -gt 0 ] && shift
steps=${*:-check product bench bf16 sanitize profile}
out=${OUT:-device-fp8}
python=${PYTHON:-python3}
library=${LIBRARY:-$(dirname "$program")/libraceline.so}
# Rows say how they were asked for: under a relative path they name no folder of this machine.
rows=build-fp8
mkdir -p "$out" "$rows"
kernel=(--device cuda --kernel prefill_sm90_fp8)
# shellcheck source=tools/device_run.sh
. tools/device_run.sh

# bench LIMIT NAME OPTION...: measured from an empty file on.
bench() {
    local limit=$1 name=$2
    shift 2
    rm -f "$rows/$name.jsonl"
    into "$rows/$name.jsonl" "$name.log" "$limit" "$program" bench --device cuda "$@"
}

# In three calls, so that a broken head dim does not hide the others.
step_check() {
    local d
    for d in 64 128 256; do
        run 70 check.log "$program" check "${kernel[@]}" --tile all --suite "edges-e4m3:$d"
    done
    if [ -n "${TESTS:-}" ]; then
        run 60 check.log "$TESTS" --gtest_filter='*eight_bit*'
    fi
}

# At the power limit, as our kernels are measured, and one at a time; sums left to the tensor core,
# then promoted to fp32.
step_product() {
    local file=$rows/product.jsonl how
    rm -f "$file"
    for how in --sustained "--sustained --promoted" ""; do
        # shellcheck disable=SC2086
        run 60 product.log "$python" bench/e4m3_sweep.py --library "$library" $how \
            --product 8192,8192,8192 --shape-seconds 3 --receipts "$file"
    done
    bring product.log "$file"
}

step_random() {
    random_checks $rows/random-checks.jsonl "${kernel[@]}" --dtype e4m3
}

step_bench() {
    bench 300 sweep --kernel prefill_sm90_fp8 --suite training-16k --dtype e4m3 --tile all \
        --max-seconds 0.05
}

step_chosen() {
    bench 90 training-16k --kernel prefill_sm90_fp8 --suite training-16k --dtype e4m3 \
        --max-seconds 0.1
}

# Every tile at three lengths: what a change of the kernel is worth, in half the time of bench.
step_lengths() {
    bench 240 lengths --kernel prefill_sm90_fp8 --tile all --max-seconds 0.05 \
        --suite lengths --dtype e4m3
}

# Our own bf16 at the shapes that 8 bits are compared at.
step_bf16() {
    bench 60 bf16 --kernel prefill_sm90 --tile all --max-seconds 0.05 --suite lengths-longest
}

step_sanitize() {
    sanitize 40 sanitizer.log "$program" check "${kernel[@]}" --tile all --suite sanitizer-e4m3
}

# Counters of single launches: what the pipes do and what the warps wait for. Clocks are left alone.
step_profile() {
    local ncu reason metrics tile
    ncu=$(find_tool ncu)
    if [ -z "$ncu" ]; then
        echo "ncu: not found" | tee -a "$out/profile.log"
        return
    fi
    metrics=sm__cycles_elapsed.max,sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active
    metrics+=,sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active
    metrics+=,sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active
    metrics+=,sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active
    metrics+=,smsp__inst_executed.sum,l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed
    metrics+=,smsp__issue_active.avg.pct_of_peak_sustained_active,dram__bytes.sum
    metrics+=,lts__t_sectors.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
    metrics+=,l1tex__data_bank_conflicts_pipe_lsu.sum
    for reason in barrier gmma long_scoreboard short_scoreboard math_pipe_throttle wait \
        mio_throttle dispatch_stall not_selected no_instruction; do
        metrics+=,smsp__average_warps_issue_stalled_${reason}_per_issue_active.ratio
    done
    for tile in rows=128,keys=128,stages=3,turns=0,promote=0 \
        rows=128,keys=192,stages=2,turns=0,promote=0 rows=192,keys=96,stages=3,turns=0,promote=0 \
        rows=192,keys=96,stages=4,turns=0,promote=0,prepared=1; do
        run 40 profile.log "$ncu" --clock-control none --metrics "$metrics" -k regex:^forward \
            --launch-skip 2 --launch-count 1 "$program" bench "${kernel[@]}" --launch-path stream \
            --max-seconds 0.02 --suite lengths-longest-full:128 --dtype e4m3 \
            --tile "headdim=128,$tile" --receipts "$XDG_CACHE_HOME/p.jsonl" </dev/null
    done
}

# shellcheck disable=SC2086
run_steps $steps
