# SPDX-License-Identifier: Apache-2.0
"""Receipt files are read plain and compressed; what cannot be unpacked is refused in a sentence."""

import gzip
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import turns
from counters import rows_of
from stored_text import stored_text

RECEIPTS = HERE.parents[1] / "receipts" / "h200"
ROW = b'{"kind": "measurement", "id": "a", "measurement": {"seconds_median": 1.0}}\n'


class StoredText(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, content, name="r.jsonl"):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def test_is_known_by_its_first_bytes(self):
        packed = gzip.compress(ROW)
        for content in (ROW, packed, gzip.compress(b"") + packed):
            self.assertEqual(stored_text(self.file(content)), ROW.decode())
        self.assertEqual(stored_text(self.file(b"")), "")

    def test_committed_receipts_are_read(self):
        measured, predictions, counted, _ = rows_of(
            RECEIPTS / "2026-11-23-prefill_sm90-training-16k-4b2ec0278ce6.jsonl.gz")
        self.assertEqual((len(measured), len(predictions), len(counted)), (36, 36, 0))

    def test_turns_takes_files_of_either_kind(self):
        row = ROW.replace(b'"id": "a"', b'"kernel": "k", "workload": {}, "tile": {}')
        self.file(row, "before-1.jsonl")
        self.file(gzip.compress(row.replace(b"1.0", b"2.0")), "after-1.jsonl.gz")
        before, after = (turns.times(self.folder, which) for which in ("before", "after"))
        self.assertEqual([ratio for ratio, *_ in turns.compared(before, after)["k"]], [2.0])

    def test_what_cannot_be_unpacked_is_refused(self):
        packed = gzip.compress(ROW * 100)
        damaged = bytearray(packed)
        damaged[len(packed) - 6] ^= 0x55
        for content in (packed[:-9], bytes(damaged), packed + b"more", packed[:2]):
            with self.assertRaisesRegex(ValueError, "r.jsonl: its compressed data are cut off or damaged"):
                stored_text(self.file(content))

    def test_more_than_the_limit_is_refused(self):
        path = self.file(gzip.compress(bytes(8 << 20)))
        self.assertEqual(len(stored_text(path, 8 << 20)), 8 << 20)
        with self.assertRaisesRegex(ValueError, "more than 7 MiB"):
            stored_text(path, (8 << 20) - 1)


if __name__ == "__main__":
    unittest.main()
