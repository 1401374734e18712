# SPDX-License-Identifier: Apache-2.0
"""A page means on the site what it means on GitHub: a hook of MkDocs (mkdocs.yml).

Pages are CommonMark: what stands under a list's item is indented as far as the item's text. Python-Markdown,
which builds the site, wants four columns, and ends the list otherwise; it wants an empty line before a list,
and before an item whose neighbour has several paragraphs. So pages are written so before it reads them.
"""

from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

COLUMNS = 4


def with_wide_items(markdown: str) -> str:
    """The same page with what belongs to an item of a list four columns right of its mark."""
    lines = markdown.splitlines()
    columns = [0] * len(lines)  # that a line moves to the right
    apart: set[int] = set()  # lines that want an empty one before them
    loose: list[bool] = []  # of each list that is open: whether an empty line is in it
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        if token.type in ("bullet_list_close", "ordered_list_close"):
            loose.pop()
        if not token.map:
            continue
        begin, end = token.map
        follows = begin > 0 and bool(lines[begin - 1].strip())
        if token.type in ("bullet_list_open", "ordered_list_open"):
            if follows and not loose:
                apart.add(begin)
            loose.append(any(not line.strip() for line in lines[begin:end - 1]))
        elif token.type == "list_item_open":
            if follows and loose[-1]:
                apart.add(begin)
            for line in range(begin + 1, end):
                columns[line] += max(0, COLUMNS - text_column(lines[begin], token))
    written: list[str] = []
    for number, line in enumerate(lines):
        if number in apart:
            written.append("")
        written.append(" " * columns[number] + line if line.strip() else line)
    return "\n".join(written) + "\n"


def text_column(line: str, item: Token) -> int:
    """How far right of its mark an item's text begins; the mark is `-`, or a number and `.`."""
    text = line.lstrip()[len(item.info) + len(item.markup):]
    return len(item.info) + len(item.markup) + len(text) - len(text.lstrip())


def on_page_markdown(markdown: str, **_: Any) -> str:
    return with_wide_items(markdown)
