#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of README.md, the site's start, concepts, guides and lessons as they are written.

Of each ```sh block every line that begins with `raceline` or `build/raceline` runs, page by page in
a folder of its own, in which earlier lines of the page have left their files. Other programs (make,
cmake, pip) are not run here. What needs files or hours that a test does not have stands in LEFT_OUT.
A block of code under `<!-- from: FILE -->` must stand in that file, but for white space: the examples
are compiled and run by another test.

Usage: page_commands.py RACELINE [PAGE...]
"""

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)

EXCERPT = re.compile(r"^<!-- from: (\S+) -->\n```\w+\n(.*?)^```", re.DOTALL | re.MULTILINE)

#: By what the line says, and why it is left out.
LEFT_OUT = {
    "plot roofline # the demo's rows": "the newest run of this user, who has none in a test",
    "plot roofline -o": "the newest run of this user, who has none in a test",
    "completion bash": "a line for bash",
    "kernels.csv": "a file of the reader's",
    "bench --device cpu --op": "a minute of measuring",
    "bench --fuse": "a minute of measuring",
}


def pages() -> list[Path]:
    docs = ROOT / "docs"
    return [ROOT / "README.md", docs / "start.md", *sorted((docs / "concepts").glob("*.md")),
            *sorted((docs / "guides").glob("*.md")), *sorted((docs / "learn").glob("*.md")),
            docs / "terminal.md", docs / "point.md", docs / "operations.md"]


def lines_of(page: Path) -> list[str]:
    found: list[str] = []
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        for line in block.group(1).replace("\\\n", " ").splitlines():
            said = " ".join(line.split())
            if re.match(r"(?:build/)?raceline ", line) and not any(part in said for part in LEFT_OUT):
                found.append(line)
    return found


def strangers(page: Path) -> list[str]:
    """Excerpts that do not stand in the file that they are said to be from."""
    found = []
    for excerpt in EXCERPT.finditer(page.read_text(encoding="utf-8")):
        source = (ROOT / excerpt.group(1)).read_text(encoding="utf-8")
        if " ".join(excerpt.group(2).split()) not in " ".join(source.split()):
            found.append(f"does not stand in {excerpt.group(1)}: {excerpt.group(2).splitlines()[0]} ...")
    return found


def run(line: str, program: str, folder: str) -> str:
    """What went wrong; empty: nothing did."""
    words = shlex.split(line, comments=True)
    try:
        done = subprocess.run([program, *words[1:]], cwd=folder, capture_output=True, text=True, timeout=120,
                              check=False)
    except subprocess.TimeoutExpired:
        return "takes more than two minutes"
    return "" if done.returncode == 0 else f"exit {done.returncode}: {done.stderr.strip()[-400:]}"


def main(arguments: list[str]) -> int:
    program = str(Path(arguments[0]).resolve())
    wrong = count = 0
    for page in [Path(name) for name in arguments[1:]] or pages():
        for fault in strangers(page):
            print(f"{page}: {fault}")
            wrong += 1
        with tempfile.TemporaryDirectory() as folder:
            for line in lines_of(page):
                count += 1
                fault = run(line, program, folder)
                if fault:
                    print(f"{page}: {line}\n    {fault}")
                    wrong += 1
    print(f"{count} commands, {wrong} failed")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
