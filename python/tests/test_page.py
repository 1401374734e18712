# SPDX-License-Identifier: Apache-2.0
"""The page that the package writes; what is on it is tested in tests/page."""

import gzip
import json
import os
import pathlib
import re
import shutil

import pytest
import raceline

RECEIPTS = pathlib.Path(__file__).parents[2] / "receipts" / "h200"
RUN = RECEIPTS / "2026-11-23-prefill_sm90-training-16k-4b2ec0278ce6.jsonl.gz"


def unlettered(text):
    """Bytes of letters, as src/page/compressed.hpp has them: two are thirteen bits, a last single one is six."""
    places = {letter: i for i, letter in enumerate(chr(code) for code in range(33, 127) if chr(code) not in "&<\\")}
    bits = "".join(f"{places[text[i]] * 91 + places[text[i + 1]]:013b}" for i in range(0, len(text) - 1, 2))
    bits += f"{places[text[-1]]:06b}" if len(text) % 2 else ""
    return bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits) - 7, 8))


def carried(page, name):
    """What a page carries under a name, unpacked; None if it does not."""
    found = re.search(rf'<script [^>]*id="{name}"[^>]*>([^<]+)</script>', page)
    return found and gzip.decompress(unlettered(found[1]))


def first_row(columns):
    """Of rows in columns (src/page/row_columns.hpp): the values of the first line come first in their columns."""
    templates, _, *values = columns.removeprefix("c").split("\x02")
    texts = templates.split("\n")[0].split("\x01")
    columns_of = dict(zip(dict.fromkeys(texts[:-1]), (column.split("\n") for column in values)))
    line, long = "", []
    for text in texts[:-1]:
        value = columns_of[text].pop(0)
        value = long[-int(value[1:])] if value.startswith("~") else value
        long += [value] if len(value) >= 12 else []
        line += text + value
    return line + texts[-1]


def test_a_page_has_the_rows_the_charts_and_the_model(tmp_path):
    out = tmp_path / "page.html"
    raceline.report_html(RUN, out)
    page = out.read_text()
    assert page.startswith("<!doctype html>")
    data = json.loads(carried(page, "data"))
    assert data["version"] == raceline.__version__
    assert len(data["cases"]["measured"]) == 36
    assert first_row(carried(page, "rows-0").decode()) == gzip.decompress(RUN.read_bytes()).decode().splitlines()[0]
    assert {"vega-view", "vega-parser"} <= json.loads(carried(page, "vega")).keys()
    model = carried(page, "model")
    assert model is not None, "built without emscripten: the page has no panel of what-ifs"
    assert b"WebAssembly" in model
    assert carried(page, "module").startswith(b"\0asm")
    assert len(data["ladder"]) > 0


def test_several_files_and_a_page_written_again(tmp_path):
    out = tmp_path / "page.html"
    other = RECEIPTS / "2026-11-23-prefill_mma-training-16k-4b2ec0278ce6.jsonl.gz"
    raceline.report_html([RUN, str(other)], str(out))
    raceline.report_html([RUN, os.fspath(other)], out)
    data = json.loads(carried(out.read_text(), "data"))
    assert [pathlib.Path(file["path"]).name for file in data["files"]] == [RUN.name, other.name]


def test_receipts_and_other_files_are_never_replaced(tmp_path):
    mine = tmp_path / "mine.jsonl"
    shutil.copy(RUN, mine)
    link = tmp_path / "link.html"
    link.symlink_to(mine)
    text = tmp_path / "rows.html"
    shutil.copy(RUN, text)
    for out, why in ((mine, "is to be read"), (link, "is to be read"), (text, "is no page"), (tmp_path, "is a folder")):
        with pytest.raises(ValueError, match=why):
            raceline.report_html([mine], out)
    assert mine.read_bytes() == text.read_bytes() == RUN.read_bytes()


def test_what_is_no_receipt_is_refused(tmp_path):
    out = tmp_path / "page.html"
    with pytest.raises(ValueError, match="receipts is empty"):
        raceline.report_html([], out)
    with pytest.raises(ValueError, match="is a folder"):
        raceline.report_html(tmp_path, out)
    with pytest.raises(OSError, match="nowhere"):
        raceline.report_html(tmp_path / "nowhere.jsonl", out)
    words = tmp_path / "words.txt"
    words.write_text("hello\n")
    with pytest.raises(RuntimeError, match="no receipt file"):
        raceline.report_html(words, out)
    with pytest.raises(OSError, match="cannot write"):
        raceline.report_html(RUN, tmp_path / "none" / "page.html")
    assert not out.exists()


def test_a_compressed_file_that_cannot_be_unpacked_is_named_on_the_page(tmp_path):
    whole, out = RUN.read_bytes(), tmp_path / "page.html"
    for content, why in ((whole[:-100], "end too early"), (whole + b"more", "4 bytes follow"),
                         (whole[:5000] + b"\xff" * 8 + whole[5008:], "are damaged")):
        (tmp_path / "r.jsonl.gz").write_bytes(content)
        raceline.report_html(tmp_path / "r.jsonl.gz", out)
        assert why in carried(out.read_text(), "data").decode()
