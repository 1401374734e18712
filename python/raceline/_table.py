# SPDX-License-Identifier: Apache-2.0
"""Numbers and tables for eyes."""

from __future__ import annotations

import html
import math
from typing import Sequence


def si(value: float, unit: str) -> str:
    """1.53e12, "B/s" -> "1.53 TB/s"."""
    prefixes = ["", "k", "M", "G", "T", "P"]
    step = min(max(int(math.log10(abs(value)) // 3), 0), len(prefixes) - 1) if value else 0
    return f"{value / 1000**step:.3g} {prefixes[step]}{unit}"


def seconds(value: float) -> str:
    """0.00104 -> "1.04 ms"."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


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
