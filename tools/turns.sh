#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two programs in turns on the same cases, so that machine and clock are the same for both, and a table
# of what the second took beside the first.
#
#   OUT=folder tools/turns.sh BEFORE AFTER ROUNDS OPTION...     options are those of bench
#
# A library carried beside a program (libhwy.so.1) is found there. The table is also in $OUT/turns.txt.
set -u
cd "$(dirname "$0")/.." || exit 2
before=${1:?"usage: tools/turns.sh BEFORE AFTER ROUNDS OPTION..."} after=$2 rounds=$3
shift 3
out=${OUT:-turns}
mkdir -p "$out"
for ((round = 1; round <= rounds; ++round)); do
    for which in before after; do
        program=${!which}
        LD_LIBRARY_PATH="$(cd "$(dirname "$program")" && pwd)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
            "$program" bench --seed 1 "$@" --receipts "$out/$which-$round.jsonl" >>"$out/bench.log" 2>&1 ||
            echo "$which: status $?" | tee -a "$out/bench.log"
    done
done
python3 bench/turns.py "$out" | tee "$out/turns.txt"
