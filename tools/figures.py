#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses measured figures in README.md and docs/ that no receipt stands behind.

A figure is a number with a unit of speed, time, power, clock or ratio, however it is spelled, spaced
or marked up. It may stand between the markers of a generated block, which `make docs` writes and a
test compares with its receipts, and nowhere else. A rule, or a setting of a procedure, is said in
words; if these name a unit ("a kernel that waits for fifty microseconds"), its words stand in RULES,
so that somebody has looked at them. "Twice", "three times" and "a third" are free. docs/ladder.md is
generated as a whole, which a test holds. docs/decisions/ and docs/notebooks/ are dated and say what
was known on their day.

Usage: tools/figures.py [FILE...]; without a file, all pages of the tree.
"""

import html
import re
import sys
from pathlib import Path

BEGIN = re.compile(r"<!-- raceline:begin [^\n]*?-->")
END = "<!-- raceline:end -->"
GENERATED = "docs/ladder.md"

# Rules and settings in words that name a unit, by page. One that is not found is refused as well.
RULES = {
    "ceilings.md": (
        "A value more than three percent above its limit",
        "a kernel that waits for fifty microseconds",
        "ramped for half a second first",
        "what the L2 keeps is under one percent",
        "some launches of two milliseconds after a pause each",
    ),
    "compare.md": (
        "graph lasts two hundred microseconds or more",
        "Eighty milliseconds of work come before the first",
        "half of its ninety-five-percent interval under one percent",
        "at most every two milliseconds",
        "both medians' ninety-five-percent intervals",
    ),
    "correctness.md": (
        "a scale one percent too large",
        "A scale one percent too large must be refused",
        "runs each for ten seconds",
    ),
    "devices.md": ("by more than one and a half percent",),
    "index.md": ("Start in five minutes",),
    "model.md": ("under twenty microseconds, to a hundred, over a hundred",),
    "start.md": ("Start in five minutes", "it takes half an hour"),
    "shapes.md": ("half a minute on two cores",),
    "operations.md": ("ninety-two percent of it on a GPU and eighty-five percent on a CPU",),
    "receipts.md": ("within ten, within twenty percent",),
}

# A word's end, a line's end within a paragraph, or nothing.
GAP = r"[^\S\n]*(?:\n[^\S\n]*(?:>[^\S\n]*)?)?"
DIGITS = r"\d[\d.,]*"
WORD = (
    r"(?:half|quarter|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|"
    r"six|seven|eigh|nine)teen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|"
    r"million)"
)
WORDS = rf"\b{WORD}(?:(?:-|{GAP})(?:(?:and|a|of|an){GAP})*{WORD})*(?:{GAP}(?:of{GAP})?an?)?"
# Units that are words, so that they follow a number in words too.
SPOKEN = (
    rf"(?:per{GAP}?cent|pct|percentage|(?:pico|nano|micro|milli)?seconds?|minutes?|hours?|"
    rf"(?:[kK]ilo|[mM]ega|[gG]iga|[tT]era|[pP]eta)(?:flops?|hertz|watts?|(?:bytes?|bits?)"
    rf"{GAP}(?:a|per|/){GAP}second)|watts?)\b"
)
RATE = (
    rf"(?:[kMGTP]?FLOPS?(?:{GAP}/{GAP}s)?|(?i:[kmgtp]{GAP}flops?)(?:{GAP}/{GAP}s)?|flops?{GAP}/{GAP}s|"
    rf"[kMGTP]i?(?:B|bit)(?:{GAP}(?:/|per){GAP}s(?:econd)?|ps)|[kMGTP]bps)\b"
)
# A product of sizes (64 × 128, 64 × n, 0 × NaN) is no multiple of anything measured.
RATIO = r"(?:-times\b|×(?!\s*(?:\d|NaN\b|[a-z]\b))|x\b(?!\s*\d)|%|times\b|-?fold\b)"
SIGN = r"(?:[fpnuµμm]s|(?:[munp]|micro|milli|nano)-?sec(?:ond)?s?|[kMG]Hz|m?W|flops?\s+a\s+(?:clock|cycle|second))\b"
FIGURE = re.compile(
    rf"{DIGITS}(?:{GAP}(?:{RATIO}|{SIGN}|{RATE})|(?:-|{GAP}){SPOKEN})"
    rf"|{DIGITS}\s+s\b|\d+\.\d+s\b|\bfactor{GAP}of{GAP}\d+\.\d+"
    rf"|(?i:{WORDS})(?:-|{GAP}){SPOKEN}"
)
IN_WORDS = re.compile(rf"(?i:{WORDS})")


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


def as_read(text: str) -> str:
    """What a reader sees of a page, line ends kept: no tags, links, emphasis or escapes."""

    def blank(found: re.Match[str]) -> str:
        return " " + "\n" * found.group().count("\n")

    text = re.sub(r"<!--.*?-->|</?[a-zA-Z][^<>]*>", blank, text, flags=re.DOTALL)
    text = re.sub(r"&#?\w+;", lambda found: html.unescape(found.group()).replace("\n", " "), text)
    text = re.sub(r"\]\([^()\s]*\)", "", text)  # a link's target
    text = re.sub(r"\\[,;:! ]?|[\[\]$*`~\u200b\u2060]|(?<!\w)_|_(?!\w)", "", text)
    return text


def places_of(rule: str, text: str) -> list[tuple[int, int]]:
    words = r"\s+".join(re.escape(word) for word in rule.split())
    return [found.span() for found in re.finditer(words, text)]


def figures(text: str, rules: tuple[str, ...] = ()) -> list[tuple[int, str]]:
    """Line numbers and sentences on what is wrong."""
    plain, faults = without_blocks(text)
    plain = as_read(plain)
    allowed: list[tuple[int, int]] = []
    for rule in rules:
        places = places_of(rule, plain)
        allowed += places
        if not places:
            faults.append((1, f"the rule '{rule}' of tools/figures.py does not stand here"))
    for found in FIGURE.finditer(plain):
        first, last = found.span()
        in_words = IN_WORDS.match(found.group())
        if not (in_words and any(a <= first and last <= b for a, b in allowed)):
            said = " ".join(found.group().split())
            line = plain.count("\n", 0, first) + 1
            faults.append((line, f"'{said}' stands outside of a generated block"))
    return sorted(faults)


def pages(root: Path) -> list[Path]:
    return [
        page
        for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
        if page != root / GENERATED and not {"decisions", "notebooks"} & set(page.parts)
    ]


def rules_of(page: Path, root: Path) -> tuple[str, ...]:
    """Those of its name below docs/; of a page from elsewhere, of its name alone."""
    docs = root / "docs"
    below = page.resolve().is_relative_to(docs)
    return RULES.get(page.resolve().relative_to(docs).as_posix() if below else page.name, ())


def main(arguments: list[str]) -> int:
    root = Path(__file__).resolve().parent.parent
    wrong = 0
    for page in [Path(name) for name in arguments] or pages(root):
        for line, what in figures(page.read_text(encoding="utf-8"), rules_of(page, root)):
            print(f"{page}: line {line}: {what}")
            wrong += 1
    if wrong:
        print(
            "figures: name the receipt in a block (`make docs` fills it in), say a rule in words "
            "(and in RULES, if they name a unit), or move what was tried to docs/notebooks/"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
