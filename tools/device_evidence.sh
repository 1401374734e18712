#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Renews the evidence behind H200 headlines, in parts of under ten minutes: gate, engines and peers in
# nine in all, the ladder in four to six more. Binaries come built; peers come installed
# (tools/device_peers.sh, tools/peer_fa3.sh).
#
#   OUT=folder tools/device_evidence.sh [program] PART ...
#
# Parts:
#   gate     wrong outputs refused, training-16k on every kind of inputs, random checks    3 min
#   engines  prefill_sm90, prefill_sm90_fp8 and prefill_mma on training-16k, random suites  2.5 min
#   peers    training-16k beside the peers that are installed, in bf16 and in e4m3         3 min
#   ladder   every rung, its counters, the gap and the sweeps                              over 4 min for the rungs alone
# What comes home lies in one folder a part, with its logs. TESTS=device_test_run for part gate,
# LIBRARY=libraceline.so for part peers (default: beside the program). SEEDS are those of random
# checks, SUITES of random suites that are predicted and measured (default: the day's date).
set -u
cd "$(dirname "$0")/.." || exit 2
program=${1:?"usage: tools/device_evidence.sh PROGRAM PART ..."}
shift
out=${OUT:-device-evidence}
library=${LIBRARY:-$(dirname "$program")/libraceline.so}
suites=${SUITES:-$(date +%Y%m%d)}
status=0

# part NAME COMMAND...: in a folder of its own.
part() {
    local name=$1
    shift
    echo "==== $name ($SECONDS s)"
    OUT=$out/$name "$@" || status=1
}

engines() {
    part sm90 tools/device_prefill.sh "$program" bench
    part mma env KERNEL=prefill_mma tools/device_prefill.sh "$program" bench
    part fp8 tools/device_fp8.sh "$program" chosen product
    part random env SUITES="$suites" tools/device_gate.sh "$program" predict
}

for name in "${@:?"name a part: gate engines peers ladder"}"; do
    case $name in
        gate) part gate tools/device_gate.sh "$program" mutations training random ;;
        engines) engines ;;
        peers)
            part peers tools/device_compare.sh "$library"
            part peers-e4m3 env PEERS=fa3 BUDGET=90 tools/device_compare.sh "$library" --dtype e4m3
            ;;
        ladder) part ladder tools/device_ladder.sh "$program" ;;
        *)
            echo "no part $name; there are gate, engines, peers and ladder" >&2
            exit 2
            ;;
    esac
done
echo "==== done after $SECONDS s"
exit $status
