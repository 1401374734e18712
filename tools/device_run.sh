# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by tools/device_*.sh: commands under a time limit whose failures are named at the end, tools
# found, steps by name. Before: `program`, and `out`, an existing folder; after: `here`, the program's
# folder, where a shared library carried beside it (libhwy.so.1) is found.
# DEADLINE: seconds after the start at which whatever runs is stopped (default: none).
export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$(mktemp -d)}
export XDG_STATE_HOME=${XDG_STATE_HOME:-$XDG_CACHE_HOME}
here=$(cd "$(dirname "$program")" 2>/dev/null && pwd)
export LD_LIBRARY_PATH="$here${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
# Memory that was given back to the system once is slow to come again on a virtual machine: keep it.
export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=1000000000000
failed=()

if [ ! -x "$program" ]; then
    echo "$(basename "$0"): no program at $program; build it with -DRACELINE_CUDA=ON" >&2
    exit 2
fi

# run SECONDS LOG COMMAND...: both streams into the log, its tail on the terminal. Nothing stops at
# the first failure.
run() {
    local limit=$1 log=$out/$2 status left begun=$SECONDS
    shift 2
    if [ -n "${DEADLINE:-}" ]; then
        left=$((DEADLINE - SECONDS))
        limit=$((left < limit ? left : limit))
        if [ "$limit" -lt 2 ]; then
            failed+=("$(basename "$log"): $1 $2 ... (no time left)")
            return 1
        fi
    fi
    printf '\n$ %s\n' "$*" >>"$log"
    timeout --signal=INT --kill-after=10 "$limit" "$@" >>"$log" 2>&1
    status=$?
    echo "exit status $status after $((SECONDS - begun)) s" >>"$log"
    tail -n 5 "$log"
    if [ $status -ne 0 ]; then
        failed+=("$(basename "$log"): $1 ${2:-} ... (status $status)")
    fi
    return $status
}

# bring LOG FILE: rows are verified and brought home.
bring() {
    run 20 "$1" "$program" report --check "$2"
    cp "$2" "$out/"
}

# into FILE LOG SECONDS COMMAND...: a command that appends rows to the file, which is then brought
# home.
into() {
    local file=$1 log=$2 limit=$3
    shift 3
    run "$limit" "$log" "$@" --receipts "$file"
    bring "$log" "$file"
}

# random_checks FILE OPTION...: every tile on the random suites of SEEDS, as rows.
random_checks() {
    local file=$1 seed
    shift
    rm -f "$file"
    for seed in ${SEEDS:-1 2 3}; do
        run 60 random.log "$program" check --tile all --suite "random:$seed" --receipts "$file" "$@"
    done
    bring random.log "$file"
}

# find_tool NAME: on PATH or where the toolkit puts it, or nothing.
find_tool() {
    command -v "$1" || ls "/usr/local/cuda/bin/$1" /opt/nvidia/*/*/"$1" 2>/dev/null | head -n 1
}

# sanitize SECONDS LOG COMMAND...: under each tool of compute-sanitizer, on small shapes: it slows a
# kernel down a hundredfold. racecheck looks at our kernels alone, since those that judge them take it
# minutes.
sanitize() {
    local limit=$1 log=$2 tool sanitizer only
    shift 2
    sanitizer=$(find_tool compute-sanitizer)
    if [ -z "$sanitizer" ]; then
        echo "compute-sanitizer: not found" | tee -a "$out/$log"
        return
    fi
    for tool in memcheck racecheck synccheck initcheck; do
        only=()
        if [ $tool = racecheck ]; then
            only=(--kernel-regex kns=kernels)
        fi
        run "$limit" "$log" "$sanitizer" --tool $tool "${only[@]}" --error-exitcode 9 \
            --launch-timeout 60 "$@"
    done
}

# run_steps STEP...: step_NAME of each, then what failed.
run_steps() {
    local step
    for step in "$@"; do
        echo "== $step ($SECONDS s)"
        if declare -F "step_$step" >/dev/null; then
            "step_$step"
        else
            failed+=("$step: no such step")
        fi
    done
    echo "== $(find "$out" -maxdepth 1 -type f | wc -l) files in $out after $SECONDS s"
    if [ ${#failed[@]} -gt 0 ]; then
        printf 'failed: %s\n' "${failed[@]}"
        exit 1
    fi
}
