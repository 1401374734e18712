# SPDX-License-Identifier: Apache-2.0
"""Receipts as a page to explore."""

from __future__ import annotations

import os
from typing import Sequence, Union

from . import _core

_Path = Union[str, "os.PathLike[str]"]


def report_html(receipts: _Path | Sequence[_Path], out: _Path) -> None:
    """Writes receipts as one HTML file that opens from disk and needs no network.

    It is the page of `raceline report --html`: charts and tables of predictions beside measurements,
    where each number opens its row, and the model behind sliders (docs/page.md).

    Args:
        receipts: a receipt file (JSON lines, plain or gzip-compressed), or several; of two the page also shows what changed.
            Files called index.jsonl list receipts that left a source tree.
        out: the page's file. It replaces an older page, but no other file.

    Raises:
        ValueError: no file is named, or one of them is a folder or a device or has more than
            256 MiB once it is unpacked. Or `out` is one of them, or holds what is no page.
        OSError: a file cannot be read, or the page cannot be written; an older page then stays.
        RuntimeError: no line of a file looks like a row. A compressed file that is cut off,
            damaged, or followed by other bytes is left out, and the page says why.
    """
    files = [receipts] if isinstance(receipts, (str, os.PathLike)) else receipts
    _core.report_html([os.fspath(file) for file in files], os.fspath(out))
