#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses what a stranger would have to read twice, in pages, help texts and messages.

Pages are README.md, SECURITY.md, CONTRIBUTING.md and docs/**/*.md; texts are the string literals of apps/ and src/, and what the
site's reference is made of: comments of include/raceline/ and docstrings of python/raceline/. Refused are

- a paragraph of more than 90 words, and a sentence of more than 35;
- a table that is wider than 100 columns once its cells are padded, and a line of code that is;
- words of docs/words.txt, and what codespell finds.

docs/notebooks/ is dated and keeps the words of its day: there spelling alone counts. Blocks that
`make docs` writes are held to the width alone, their words to the tests of what writes them. OLDER
lists pages that were written before there was this check and are not yet mended: each may have at
most so many faults, and its number may only fall.

Usage: tools/prose.py [FILE...]; without a file, all of the tree. --counts prints faults by file.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parent.parent
MOST_WORDS_OF_A_PARAGRAPH = 90
MOST_WORDS_OF_A_SENTENCE = 35
MOST_COLUMNS = 100

#: Faults that a page of before this check may have.
OLDER: dict[str, int] = {}

Fault = tuple[int, str]
BLOCK = re.compile(r"<!-- raceline:begin [^\n]*?-->.*?<!-- raceline:end -->", re.DOTALL)
#: A sentence ends at one of these, unless an abbreviation or a number stands before.
END = re.compile(r"(?<=[.!?:])[\"')*\]]*\s+(?=[\"'(*\[`]*[A-Z0-9`])")
ABBREVIATION = re.compile(r"(?:\b(?:[Ee]\.g|[Ii]\.e|vs|cf|etc|approx|[Nn]o|[Ff]ig|[A-Z])\.)$")


def words(text: str) -> int:
    """Words of running text: what has a letter or a digit in it."""
    return sum(1 for word in text.split() if re.search(r"\w", word))


def sentences(text: str) -> list[str]:
    found: list[str] = []
    begin = 0
    for end in END.finditer(text):
        if not ABBREVIATION.search(text[begin : end.start()]):
            found.append(text[begin : end.start()])
            begin = end.end()
    return [*found, text[begin:]]


def said(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."


def long_ones(text: str, line: int) -> Iterator[Fault]:
    count = words(text)
    if count > MOST_WORDS_OF_A_PARAGRAPH:
        yield line, f"a paragraph of {count} words: '{said(text)}'"
    for sentence in sentences(text):
        count = words(sentence)
        if count > MOST_WORDS_OF_A_SENTENCE:
            yield line, f"a sentence of {count} words: '{said(sentence)}'"


def plain(inline: Token, names: bool = True, mark: str = "") -> str:
    """What a reader sees of a paragraph or a cell; `names`: what stands in code marks, too, with
    `mark` before it."""
    text = ""
    for child in inline.children or []:
        if child.type in ("softbreak", "hardbreak"):
            text += " "
        elif child.type == "text":
            text += child.content
        elif child.type == "code_inline":
            text += mark + child.content if names else "x"
        elif child.type == "image":
            text += child.content
    return text


def table_widths(tokens: list[Token]) -> Iterator[Fault]:
    """Each table that is too wide once padded, as a terminal would show it."""
    row: list[str] = []
    rows: list[list[str]] = []
    line = 0
    for token in tokens:
        if token.type == "table_open":
            rows, line = [], (token.map or [0])[0] + 1
        elif token.type == "tr_open":
            row = []
        elif token.type == "inline" and token.level >= 4:
            row.append(plain(token))
        elif token.type == "tr_close":
            rows.append(row)
        elif token.type == "table_close":
            columns = max(map(len, rows))
            widths = [max((len(r[i]) for r in rows if i < len(r)), default=0) for i in range(columns)]
            width = sum(widths) + 3 * columns + 1
            if width > MOST_COLUMNS:
                yield line, f"a table of {width} columns"


def code_widths(tokens: list[Token]) -> Iterator[Fault]:
    for token in tokens:
        if token.type in ("fence", "code_block"):
            first = (token.map or [0])[0] + (2 if token.type == "fence" else 1)
            for number, line in enumerate(token.content.splitlines()):
                if len(line) > MOST_COLUMNS:
                    yield first + number, f"a line of code of {len(line)} columns: '{said(line)}'"


def private_nouns() -> dict[str, str]:
    nouns: dict[str, str] = {}
    for line in (ROOT / "docs" / "words.txt").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            noun, _, word = line.partition("=")
            nouns[noun.strip()] = word.strip()
    return nouns


def private(text: str, line: int, nouns: dict[str, str]) -> Iterator[Fault]:
    for noun, word in nouns.items():
        if re.search(rf"\b{re.escape(noun)}(?:s|es)?\b", text, re.IGNORECASE):
            yield line, f"'{noun}' may not come back (docs/words.txt): {word}"


def of_page(path: Path) -> list[Fault]:
    text = path.read_text(encoding="utf-8")
    notebook = "notebooks" in path.parts
    parser = MarkdownIt("commonmark").enable("table")
    parsed = parser.parse(text)
    faults = [] if notebook else [*table_widths(parsed), *code_widths(parsed)]
    nouns = private_nouns()
    # Generated blocks keep their lines, so that the others keep their numbers.
    written = BLOCK.sub(lambda block: "\n" * block.group().count("\n"), text)
    in_table = 0
    for token in parser.parse(written):
        in_table += {"table_open": 1, "table_close": -1}.get(token.type, 0)
        if token.type != "inline":
            continue
        line = (token.map or [0])[0] + 1
        if notebook:
            continue
        faults += private(plain(token, names=False), line, nouns)
        if not in_table and path != ROOT / "docs" / "ladder.md":
            faults += long_ones(plain(token, mark="`"), line)
    return sorted(faults)


LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')


def of_source(path: Path) -> list[Fault]:
    """String literals of C++ that are sentences; neighbours are one text, as for the compiler."""
    text = path.read_text(encoding="utf-8")
    # Comments are no message; their place stays empty.
    text = re.sub(r"(?m)^\s*//.*$|\s//\s.*$", "", text)
    nouns = private_nouns()
    faults: list[Fault] = []
    for found in LITERAL.finditer(text):
        pieces = re.findall(r'"((?:[^"\\\n]|\\.)*)"', found.group())
        whole = "".join(pieces).replace('\\"', '"')
        line = text.count("\n", 0, found.start()) + 1
        for part in re.split(r"\\n|\\t", whole):
            if words(part) >= 3:
                faults += private(part, line, nouns)
                faults += long_ones(part, line)
    return faults


COMMENT = re.compile(r"(?m)^[^\S\n]*///<?[^\S\n]?(.*)$|///<[^\S\n]?(.*)$")


def of_header(path: Path) -> list[Fault]:
    """Comments of a public header: lines one under the other are one text, an empty one ends it."""
    faults: list[Fault] = []
    text, first, last = "", 0, -1
    source = path.read_text(encoding="utf-8")
    for found in COMMENT.finditer(source):
        line = source.count("\n", 0, found.start()) + 1
        own = found.group(1) if found.group(1) is not None else found.group(2)
        behind_code = found.group(1) is None or "///<" in found.group()
        if line != last + 1 or not own.strip() or behind_code:
            faults += long_ones(text, first)
            text, first = "", line
        text, last = f"{text} {own}", line
    faults += long_ones(text, first)
    for found in re.finditer(r"/\*(.*?)\*/", source, re.DOTALL):  # of C
        for part in re.split(r"\n\s*\*?\s*\n", found.group(1)):
            line = source.count("\n", 0, found.start()) + 1
            faults += long_ones(re.sub(r"\n\s*\* ?", " ", part), line)
    return faults


def of_docstrings(path: Path) -> list[Fault]:
    """Docstrings of a Python file; an empty line, or one that begins a parameter, ends a text. Lines
    in columns are examples."""
    faults: list[Fault] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            told = ast.get_docstring(node, clean=True) or ""
            told = re.sub(r"(?m)^.*\S {2,}\S.*$", "", told)  # columns of an example
            line = node.body[0].lineno if told else 0
            for part in re.split(r"\n\s*\n|\n(?=\s*[\w*, ]+: )", told):
                faults += long_ones(part, line)
    return faults


# Vermillion is what Okabe and Ito call it.
def misspelt(paths: list[Path]) -> list[tuple[Path, Fault]]:
    command = [sys.executable, "-m", "codespell_lib", "--builtin", "clear,rare",
               "--ignore-words-list", "vermillion,lod,ue,fo,nd,te,ot,ans,hist,thr,ser,crate,wit,hsi,ba",
               *map(str, paths)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    found: list[tuple[Path, Fault]] = []
    for line in run.stdout.splitlines():
        name, number, what = line.split(":", 2)
        found.append((Path(name), (int(number), f"spelling: {what.strip()}")))
    return found


def files() -> list[Path]:
    read = ["README.md", "SECURITY.md", "CONTRIBUTING.md", "docs", "apps", "src", "include/raceline",
            "python/raceline"]
    listed = subprocess.run(["git", "ls-files", *read], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout.split()
    return [ROOT / name for name in listed if Path(name).suffix in (".md", ".cpp", ".hpp", ".h", ".py")
            and (ROOT / name).exists()]


def of_file(path: Path) -> list[Fault]:
    if path.suffix == ".md":
        return of_page(path)
    if path.suffix == ".py":
        return of_docstrings(path)
    return of_header(path) if path.is_relative_to(ROOT / "include") else of_source(path)


def main(arguments: list[str]) -> int:
    counts_only = "--counts" in arguments
    paths = [Path(name).resolve() for name in arguments if not name.startswith("--")] or files()
    for path in paths:
        if not path.is_file():
            print(f"prose: {path} is no file", file=sys.stderr)
            return 2
    faults: dict[Path, list[Fault]] = {}
    for path in paths:
        faults[path] = of_file(path)
    for path, fault in misspelt(paths):
        faults[path.resolve()].append(fault)
    wrong = 0
    counts: Counter[str] = Counter()
    for path in paths:
        name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
        counts[name] = len(faults[path])
        allowed = OLDER.get(name, 0)
        if counts_only or counts[name] <= allowed:
            if not counts_only and counts[name] < allowed:
                print(f"{name}: {counts[name]} faults are left: write that into OLDER of tools/prose.py")
                wrong += 1
            continue
        for line, what in faults[path]:
            print(f"{name}: line {line}: {what}")
        wrong += 1
    if counts_only:
        for name, count in sorted(counts.items()):
            if count:
                print(f'    "{name}": {count},')
    elif wrong:
        print("prose: short sentences, narrow tables; a table that is generated is narrowed where it is written")
    return 1 if wrong and not counts_only else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
