#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses measured figures in README.md and docs/*.md that no receipt stands behind.

A figure is a number with one of the units in UNITS. It may stand between the markers of a generated
block, which `make docs` writes and a test compares with its receipts, and nowhere else: a rule ("at
most three percent above its limit") is said in words. docs/ladder.md is generated as a whole, which
a test holds. docs/decisions/ and docs/notebooks/ are dated and say what was known on their day.

Usage: tools/figures.py [FILE...]; without a file, all pages of the tree.
"""

import re
import sys
from pathlib import Path

BEGIN = re.compile(r"<!-- raceline:begin [^\n]*?-->")
END = "<!-- raceline:end -->"
# A product of sizes (64 × 128, 64 × n, 0 × NaN) is no multiple of anything measured.
UNITS = r"(?:×(?!\s*(?:\d|NaN\b|[a-z]\b))|x\b(?!\s*\d)|%|percent\b|times\b|-fold\b|fold\b|(?:[kMGTP]?FLOP|[kMGTP]i?B|GB)/s|[µμun]s\b|ms\b)"
FIGURE = re.compile(r"\d[\d.,]*(?:\s|&nbsp;|\u00a0|\u202f)?" + UNITS)
GENERATED = "docs/ladder.md"


def without_blocks(text: str) -> tuple[str, list[tuple[int, str]]]:
    """The text with blocks blanked, line ends kept; faults of its markers."""
    faults: list[tuple[int, str]] = []
    kept, place = [], 0
    for begin in BEGIN.finditer(text):
        if begin.start() < place:
            continue
        end = text.find(END, begin.end())
        line = text.count("\n", 0, begin.start()) + 1
        nested = BEGIN.search(text, begin.end(), end if end >= 0 else len(text))
        if end < 0 or nested:
            faults.append((line, f"a generated block is not closed by `{END}`"))
            break
        kept.append(text[place : begin.start()])
        kept.append("\n" * text.count("\n", begin.start(), end))
        place = end + len(END)
    return "".join(kept) + text[place:], faults


def figures(text: str) -> list[tuple[int, str]]:
    """Line numbers and sentences on what is wrong."""
    plain, faults = without_blocks(text)
    for number, line in enumerate(plain.split("\n"), 1):
        faults += [
            (number, f"'{found.group().strip()}' stands outside of a generated block")
            for found in FIGURE.finditer(line)
        ]
    return sorted(faults)


def pages(root: Path) -> list[Path]:
    return [
        page
        for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]
        if page != root / GENERATED
    ]


def main(arguments: list[str]) -> int:
    root = Path(__file__).resolve().parent.parent
    wrong = 0
    for page in [Path(name) for name in arguments] or pages(root):
        for line, what in figures(page.read_text(encoding="utf-8")):
            print(f"{page}: line {line}: {what}")
            wrong += 1
    if wrong:
        print(
            "figures: name the receipt in a block (`make docs` fills it in), say a rule in words, "
            "or move what was tried to docs/notebooks/"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
