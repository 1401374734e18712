# SPDX-License-Identifier: Apache-2.0
"""bench/samples.py: the source page of ncu is read, and stretches of code are what runs equally often.
The numbers are made up; the columns are those of ncu 2025.3."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import samples

PAGE = '''==PROF== a line before
"Kernel Name","forward"
"Address","Source","# Samples","Instructions Executed","stall_wait","stall_no_inst","stall_wait (Not Issued)"
"0","MOV R1, R2","2","8","1","1","9"
"16","@!P0 HGMMA.64x64x16.F32 R24, gdesc[UR8]","60","1000","50","10","9"
"32","@P1 BRA 0x10","20","990","20","0","9"
"48","STG.E.128 desc[UR16][R16.64], R20","18","8","0","18","9"
"64","EXIT","","8","","",""
'''


class Samples(unittest.TestCase):
    def test_instructions_come_with_their_samples_and_reasons(self):
        found = samples.read(PAGE)
        self.assertEqual([at.samples for at in found], [2, 60, 20, 18, 0])
        self.assertEqual([at.executed for at in found], [8, 1000, 990, 8, 8])
        # Those of warps that could not issue are a part of the same samples.
        self.assertEqual(found[1].reasons, {"wait": 50, "no_inst": 10})

    def test_a_stretch_is_what_runs_equally_often(self):
        first, loop, last = samples.stretches(samples.read(PAGE))
        self.assertEqual((first.first, first.length, first.samples), (0, 1, 2))
        self.assertEqual((loop.first, loop.length, loop.samples), (1, 2, 80))
        self.assertEqual(loop.reasons, {"wait": 70, "no_inst": 10})
        self.assertEqual((last.first, last.length, last.samples), (3, 2, 18))

    def test_operations_are_named_without_predicate_and_form(self):
        self.assertEqual(samples.operation("@!UP0 HGMMA.64x64x16.F32 R24, R4"), "HGMMA")
        self.assertEqual(samples.operation("EXIT ;"), "EXIT")
        self.assertEqual(samples.operation(""), "")

    def test_the_table_has_what_is_large_enough(self):
        lines = samples.table(samples.read(PAGE), 0.1)
        self.assertEqual(lines[0], "5 instructions, 100 samples")
        self.assertEqual(len(lines), 5)
        self.assertRegex(lines[2], r"1 +2 +1000 +80\.0 %  wait 70\.0, no_inst 10\.0 \| HGMMA 1$")
        self.assertRegex(lines[3], r"18\.0 %  no_inst 18\.0 \| STG 1$")
        self.assertEqual(lines[4], "all: wait 71.0, no_inst 29.0")

    def test_a_launch_without_samples_has_no_shares(self):
        page = "\n".join(PAGE.splitlines()[:3]) + '\n"0","EXIT","0","8","0","0","0"\n'
        self.assertEqual(samples.table(samples.read(page), 0.1)[0], "1 instructions, 0 samples")

    def test_what_is_no_source_page_is_refused(self):
        for text in ("", "==ERROR== the file does not exist\n", "\n".join(PAGE.splitlines()[:3])):
            with self.assertRaises(ValueError):
                samples.read(text)
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.write("nothing")
            file.flush()
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                self.assertEqual(samples.main([file.name]), 1)
            self.assertIn("no table of ncu's source page", said.getvalue())


if __name__ == "__main__":
    unittest.main()
