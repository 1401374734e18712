#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Takes what tools/device_ladder.sh brought home into the tree: every receipt file under its name,
# date and commit, then docs/ladder.md from all of them. Files are copied as they are, never edited.
#
#   tools/ladder_receipts.sh FOLDER [program]
set -eu
cd "$(dirname "$0")/.."
from=${1:?"usage: tools/ladder_receipts.sh FOLDER [program]"}
program=${2:-build/raceline}
for file in "$from"/*.jsonl; do
    "$program" report --check "$file"
    read -r device date commit < <(python3 -c '
import json, sys
row = json.loads(open(sys.argv[1]).readline())
print(row["device"]["id"], row["written"][:10], row["git"]["commit"][:12])' "$file")
    cp "$file" "receipts/$device/$date-$(basename "$file" .jsonl)-$commit.jsonl"
    echo "receipts/$device/$date-$(basename "$file" .jsonl)-$commit.jsonl"
done
"$(dirname "$program")/receipt_index" manifest
"$program" report --ladder receipts/index.jsonl* receipts/*/*-ladder-*.jsonl.gz \
    receipts/*/*-from-scratch-*.jsonl.gz >docs/ladder.md.new
mv docs/ladder.md.new docs/ladder.md
git status --short docs receipts
