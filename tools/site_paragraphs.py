# SPDX-License-Identifier: Apache-2.0
"""Refuses pages of the built site that show a wall of text: what tools/prose.py cannot see, as it reads sources.

Refused are a paragraph with the mark of a list or a fence of code in its text, which the site's Markdown did not
understand, and one of more than 90 words. Notebooks may be long.

Usage: tools/site_paragraphs.py FOLDER
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

MOST_WORDS = 90
#: A line of running text that begins as an item of a list, or as a fence. Of numbers the first one begins a list.
MARK = re.compile(r"(?m)^\s*(?:[-*+] +\S|1\. +\S|```)")


class Paragraphs(HTMLParser):
    """The text of each paragraph of a page; `x` stands for what is set as code."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inside = False
        self.code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "p":
            self.inside = True
            self.found.append("")
        elif tag == "br" and self.inside:
            self.found[-1] += "\n"
        elif tag == "code":
            self.code += 1
            if self.inside:
                self.found[-1] += "x"

    def handle_endtag(self, tag: str) -> None:
        if tag == "p":
            self.inside = False
        elif tag == "code":
            self.code -= 1

    def handle_data(self, data: str) -> None:
        if self.inside and not self.code:
            self.found[-1] += data


def faults(html: str, notebook: bool) -> list[str]:
    page = Paragraphs()
    page.feed(html)
    wrong: list[str] = []
    for text in page.found:
        said = " ".join(text.split())[:70]
        if MARK.search(text):
            wrong.append(f"a list or a fence that is shown as text: '{said}'")
        count = sum(1 for word in text.split() if re.search(r"\w", word))
        if count > MOST_WORDS and not notebook:
            wrong.append(f"a paragraph of {count} words: '{said}'")
    return wrong


def main(folder: str) -> int:
    pages = sorted(Path(folder).rglob("*.html"))
    wrong = 0
    for page in pages:
        for fault in faults(page.read_text(encoding="utf-8"), "notebooks" in page.parts):
            print(f"site: {page.relative_to(folder)}: {fault}", file=sys.stderr)
            wrong += 1
    return 1 if wrong or not pages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
