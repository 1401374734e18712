#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two programs in turns on the same cases, so that machine and clock are the same for both.
#
#   OUT=folder tools/device_ab.sh BEFORE AFTER ROUNDS OPTION...     options are those of bench
set -u
before=$1 after=$2 rounds=$3
shift 3
out=${OUT:-device-ab}
mkdir -p "$out"
for ((round = 1; round <= rounds; ++round)); do
    for which in before after; do
        program=${!which}
        LD_LIBRARY_PATH="$(cd "$(dirname "$program")" && pwd)" "$program" bench --device cuda --seed 1 \
            "$@" --receipts "$out/$which-$round.jsonl" >>"$out/ab.log" 2>&1 ||
            echo "$program: status $?" | tee -a "$out/ab.log"
    done
done
