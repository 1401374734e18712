# SPDX-License-Identifier: Apache-2.0
"""Formats numbers and tables for people."""

from __future__ import annotations

import html
import math
from typing import Any, Sequence


def kind_of(value: Any) -> str:
    """3 -> "an int", "x" -> "a str"."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def three_digits(value: float) -> str:
    """4.9 -> "4.90", 120.0 -> "120"."""
    return f"{value:#.3g}".rstrip(".") if 1 <= abs(value) < 1000 else f"{value:.3g}"


def plain(value: float) -> str:
    """1023.7 -> "1020", 4.9 -> "4.9": three digits, with an exponent from a million on."""
    return f"{float(f'{value:.3g}'):g}"


def si(value: float, unit: str) -> str:
    """1.53e12, "B/s" -> "1.53 TB/s"."""
    prefixes = ["", "k", "M", "G", "T", "P"]
    value = float(f"{value:.3g}")
    step = min(max(int(math.log10(abs(value)) // 3), 0), len(prefixes) - 1) if value else 0
    return f"{three_digits(value / 1000**step)} {prefixes[step]}{unit}"


def seconds(value: float) -> str:
    """0.0049 -> "4.90 ms"."""
    value = float(f"{value:.3g}")
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1:
            return f"{three_digits(value * factor)} {unit}"
    return f"{three_digits(value * 1e9)} ns"


def percent(share: float) -> str:
    """0.853 -> "85 %", as the command prints it."""
    return f"{100 * share:.0f} %"


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
        for line in lines
    )


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        inner = "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)
        return f"<tr>{inner}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table><thead>{line(head, 'th')}</thead><tbody>{body}</tbody></table>"


class Shown:
    """What has a title and a table of itself: as text, and as HTML in a notebook."""

    __slots__ = ()
    _HEAD: Sequence[str]

    def _title(self) -> str:
        raise NotImplementedError

    def _rows(self) -> Sequence[Sequence[str]]:
        raise NotImplementedError

    def __str__(self) -> str:
        return f"{self._title()}\n{text_table(self._HEAD, self._rows())}"

    def _repr_html_(self) -> str:
        return f"<p>{self._title()}</p>{html_table(self._HEAD, self._rows())}"
