# SPDX-License-Identifier: Apache-2.0
"""Receipt files as they lie in a folder: plain, or compressed as those in receipts/ are."""

import gzip
import zlib
from pathlib import Path

LIMIT = 256 << 20  # as the program's: a megabyte of zeros takes a kilobyte


def stored_text(path, limit=LIMIT):
    """The text of a receipt file; a compressed one is known by its first bytes, not by its name.

    Raises ValueError in one sentence if it is cut off or damaged, or has more than `limit` bytes once
    it is unpacked; OSError if it cannot be read."""
    with Path(path).open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if not compressed:
            return file.read().decode()
        try:
            with gzip.GzipFile(fileobj=file) as unpacked:
                content = unpacked.read(limit + 1)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path}: its compressed data are cut off or damaged ({error}); fetch or "
                             "compress it again") from error
    if len(content) > limit:
        raise ValueError(f"{path}: more than {limit >> 20} MiB once it is unpacked, which is not read")
    return content.decode()
