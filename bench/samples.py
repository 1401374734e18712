#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where a kernel's warps stand, by samples of the program counter: what ncu writes of one launch with

    ncu --section SourceCounters --warp-sampling-interval 0 -o REPORT ...
    ncu --import REPORT.ncu-rep --page source --print-source sass --csv >FILE

as a table of stretches, straight pieces of code that run equally often: how many instructions, how
often a warp runs them, their share of all samples, what warps waited for there (per cent of all
samples), and what the code does. A stretch between two work tiles or behind a barrier is told by how
often it runs. Samples count warps that wait for each other too: a share is no share of the time.
Needs Python alone. Errors: a file without a kernel's source, status 1."""

import argparse
import collections
import csv
import io
import re
import sys
from dataclasses import dataclass, field

# Instructions that tell what a stretch is for.
TELLING = ("HGMMA", "QGMMA", "HMMA", "MUFU", "FMNMX", "F2FP", "LDSM", "STSM", "STG", "LDG", "SHFL",
           "BAR", "SYNCS", "UTMALDG", "UTMASTG", "UBLKCP", "ATOMG")
REASON = "stall_"


@dataclass
class Instruction:
    text: str
    samples: int
    executed: int  # by how many warps, over the launch
    reasons: dict  # samples by what the warp waited for


@dataclass
class Stretch:
    first: int  # number of its first instruction
    executed: int
    length: int = 0
    samples: int = 0
    reasons: collections.Counter = field(default_factory=collections.Counter)
    operations: collections.Counter = field(default_factory=collections.Counter)


def operation(text):
    """HGMMA of '@!P0 HGMMA.64x64x16.F32 R24, ...'."""
    words = [word for word in text.split() if not word.startswith("@")]
    return re.split(r"[.;]", words[0])[0] if words else ""


def number(cell):
    return int(cell) if cell else 0


def read(text):
    """The instructions of the kernel in a CSV of ncu's source page. ValueError: there is none."""
    rows = list(csv.reader(io.StringIO(text)))
    header = next((i for i, row in enumerate(rows) if "Source" in row and "# Samples" in row), None)
    if header is None:
        raise ValueError("no table of ncu's source page (--page source --print-source sass --csv)")
    column = {name: i for i, name in enumerate(rows[header])}
    reasons = {name[len(REASON):]: i for name, i in column.items()
               if name.startswith(REASON) and "(" not in name}
    instructions = []
    for row in rows[header + 1:]:
        if len(row) < len(column):
            continue
        instructions.append(Instruction(row[column["Source"]].strip(),
                                        number(row[column["# Samples"]]),
                                        number(row[column["Instructions Executed"]]),
                                        {name: number(row[i]) for name, i in reasons.items()}))
    if not instructions:
        raise ValueError("a table without instructions")
    return instructions


def stretches(instructions):
    """Neighbours that are executed equally often, to 2 per cent of the more frequent one."""
    found = []
    for i, at in enumerate(instructions):
        last = found[-1] if found else None
        if last is None or abs(at.executed - last.executed) > 0.02 * max(at.executed, last.executed):
            last = Stretch(i, at.executed)
            found.append(last)
        last.length += 1
        last.samples += at.samples
        last.reasons.update(at.reasons)
        last.operations[operation(at.text)] += 1
    return found


def table(instructions, least):
    """Lines of text: stretches with at least this share of the samples, then all reasons."""
    total = sum(at.samples for at in instructions)
    lines = [f"{len(instructions)} instructions, {total} samples",
             "  from   long  run by warps    share  waits, % of all samples | operations"]
    everything = collections.Counter()
    for at in instructions:
        everything.update(at.reasons)
    for s in stretches(instructions):
        if total == 0 or s.samples < least * total:
            continue
        waits = [f"{name} {100 * count / total:.1f}" for name, count in s.reasons.most_common(5)
                 if count >= 0.002 * total]
        does = [f"{name} {s.operations[name]}" for name in TELLING if s.operations[name]]
        lines.append(f"{s.first:6d} {s.length:6d} {s.executed:13d} {100 * s.samples / total:6.1f} %  "
                     f"{', '.join(waits)} | {', '.join(does)}")
    if total > 0:
        lines.append("all: " + ", ".join(f"{name} {100 * count / total:.1f}"
                                         for name, count in everything.most_common(10) if count))
    return lines


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="CSV of ncu's source page")
    parser.add_argument("--least", type=float, default=0.006, metavar="SHARE",
                        help="leave out stretches with a smaller share of the samples (%(default)s)")
    options = parser.parse_args(arguments)
    try:
        with open(options.file, encoding="utf-8") as file:
            instructions = read(file.read())
    except (OSError, ValueError) as error:
        print(f"samples.py: {options.file}: {error}", file=sys.stderr)
        return 1
    print("\n".join(table(instructions, options.least)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
