#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The committed evidence of the CPU side, one file a run under receipts/cpu/: ceilings, quickstart, a
# random suite at first sight, the figures that the README quotes, and PyTorch side by side.
#
#   tools/cpu_evidence.sh SEED [program] [libraceline.so] [python with torch]
#
# Run it on an otherwise idle machine, from a clean checkout. SEED must never have been run before.
set -euo pipefail
cd "$(dirname "$0")/.."
seed=${1:?"usage: tools/cpu_evidence.sh SEED [program] [library] [python]"}
program=${2:-build/raceline}
library=${3:-build/libraceline.so}
python=${4:-}
stem() { echo "receipts/cpu/$(date -u +%Y-%m-%d)-$1-$(git rev-parse --short=12 HEAD).jsonl"; }

"$program" measure --device cpu --receipts "$(stem ceilings)"
"$program" bench --device cpu --suite quickstart --receipts "$(stem quickstart)"
"$program" bench --device cpu --suite "random:$seed" --receipts "$(stem "random-$seed")"

"$program" bench --device cpu --kernel cpu_flash --suite cpu-figures --receipts "$(stem figures)"
if [ -n "$python" ]; then
    "$python" bench/compare.py --device cpu --library "$library" --receipts "$(stem torch)"
fi
for file in "$(stem quickstart)" "$(stem "random-$seed")" "$(stem figures)" ${python:+"$(stem torch)"}; do
    "$program" report --check "$file"
done
"$(dirname "$program")/receipt_index" manifest
