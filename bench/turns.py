#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one program took beside another on the same cases: a table from the files of tools/turns.sh.

    bench/turns.py FOLDER

FOLDER holds before-N.jsonl and after-N.jsonl, N = 1, 2, ..., plain or compressed. A case is a kernel and a workload; its
time is the median over the rounds. A ratio is the second program's time over the first's: over 1 is
slower. "itself" is how far one program's rounds lie apart, the largest over the smallest, as a
geometric mean over the cases: what differs by less is no difference. Unsettled times are left out.
"""

import json
import statistics
import sys
from pathlib import Path

from stored_text import stored_text


def rows_of(path):
    """The rows of a file that may end in the middle of a line."""
    for line in stored_text(path).splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return


def case_of(row):
    # Members that only the newer program writes make no other case as long as they say the default.
    workload = {name: value for name, value in row["workload"].items()
                if value not in (None, "", "accurate")}
    return row["kernel"], json.dumps(workload, sort_keys=True)


def times(folder, which):
    """{case: ([seconds of each round], {tile as text})} of one of the programs."""
    found = {}
    for path in sorted(folder.glob(f"{which}-*.jsonl*")):
        for row in rows_of(path):
            timed = row.get("measurement")
            if row["kind"] != "measurement" or not timed or timed.get("unsettled"):
                continue
            seconds, tiles = found.setdefault(case_of(row), ([], set()))
            seconds.append(timed["seconds_median"])
            tiles.add(json.dumps(row["tile"], sort_keys=True))
    return found


def compared(before, after):
    """{kernel: [(ratio, same tile, spread, case)]} of the cases that both programs have."""
    kernels = {}
    for case, (seconds, tiles) in before.items():
        if case not in after:
            continue
        later, later_tiles = after[case]
        spread = max(max(s) / min(s) for s in (seconds, later))
        ratio = statistics.median(later) / statistics.median(seconds)
        kernels.setdefault(case[0], []).append((ratio, tiles == later_tiles, spread, case))
    return kernels


def lines(before, after):
    kernels = compared(before, after)
    yield f"{'kernel':<22} cases  ratio  least   most  itself  other tile"
    for kernel, cases in sorted(kernels.items()) + [("all", sum(kernels.values(), []))]:
        if not cases:
            continue
        ratios = [case[0] for case in cases]
        itself = statistics.geometric_mean(case[2] for case in cases)
        others = sum(not case[1] for case in cases)
        yield (f"{kernel:<22} {len(cases):5d}  {statistics.geometric_mean(ratios):.3f}  {min(ratios):.3f}  "
               f"{max(ratios):.3f}   {itself:.3f}  {others:10d}")
    alone = [len(before.keys() - after.keys()), len(after.keys() - before.keys())]
    if any(alone):
        yield f"not compared: {alone[0]} cases of the first program alone, {alone[1]} of the second"


def main():
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        print("usage: bench/turns.py FOLDER, which holds before-N.jsonl and after-N.jsonl",
              file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    try:
        before, after = times(folder, "before"), times(folder, "after")
    except (OSError, ValueError) as error:
        print(f"turns: {error}", file=sys.stderr)
        return 2
    if not before or not after:
        which = "first" if not before else "second"
        print(f"{folder}: no settled measurement of the {which} program", file=sys.stderr)
        return 1
    print("\n".join(lines(before, after)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
