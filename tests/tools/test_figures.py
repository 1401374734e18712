# SPDX-License-Identifier: Apache-2.0
"""What tools/figures.py refuses and what it lets by."""

import contextlib
import importlib.util
import io
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("figures", SOURCE / "tools" / "figures.py")
figures = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(figures)

BLOCK = "<!-- raceline:begin value of=mean-ratio from=x -->1.20 times<!-- raceline:end -->"


class Figures(unittest.TestCase):
    def test_each_unit_is_refused(self):
        for text in [
            "1.21 times", "2.22×", "2.22 ×", "1.2x", "5 %", "5%", "5 percent", "791 TFLOP/s",
            "1,133 GFLOP/s", "4.8 TB/s", "104 GB/s", "20 µs", "20 μs", "20us", "9.60 ms", "3 ns",
            "1.21&nbsp;times", "1.21\u00a0%", "3 × as long", "a **5 %** gain", "`12 ms`",
            "20 us", "3ns", "1.2 s", "0.5s", "20 seconds", "20-second", "2 minutes", "791 TFLOPS",
            "2,700 flop a clock", "1980 MHz", "1.75 GHz", "700 W", "5 per cent", "5 pct",
            "5-percent", "812 TFLOPs", "900 Tflop/s", "900e12 flop/s", "3.2 TB per second", "4.6 TBps",
            "5 msec", "12 usec", "14 micro-seconds", "1.3-times", "a factor of 1.3", "2 microseconds", "2 gigabytes a second", "4 teraflops", "104 GB / s",
        ]:
            with self.subTest(text):
                found = figures.figures("a line\nit takes " + text + " there\n")
                self.assertEqual([line for line, _ in found], [2], found)

    def test_markup_hides_no_unit(self):
        for text in [
            "**5** %", "*5*%", "_5_ %", "`5` %", "5<br>%", "<b>5</b> %", "5<!-- so -->%",
            "5&thinsp;%", "5&nbsp;&percnt;", "5&#37;", "5\u2009%", "5\u200b%", r"5\,\%", "$5$ %",
            "[5](other.md) %", "~~5~~ %", "104 GB<br/>/ s", "**forty** percent", "5 per&nbsp;cent",
        ]:
            with self.subTest(text):
                found = figures.figures("a line\nit takes " + text + " there\n")
                self.assertEqual([line for line, _ in found], [2], found)

    def test_a_unit_on_the_next_line_is_one(self):
        for text in ["it takes 5\n% of it", "it takes 5\n> % of it", "some forty\n   percent",
                     "two\nmicroseconds", "5<br>\n%", "104 GB\n/ s"]:
            with self.subTest(text):
                self.assertEqual([line for line, _ in figures.figures("x\n" + text)], [2])
        self.assertEqual(figures.figures("it ends in 5\n\ntimes are another matter"), [])

    def test_numbers_in_words_are_numbers_before_a_unit(self):
        for text in [
            "forty percent", "Forty per cent", "forty-five percent", "three percent",
            "two microseconds", "half a second", "a hundred milliseconds", "ten nanoseconds",
            "four teraflops", "two hundred gigabytes per second", "one and a half percent",
        ]:
            with self.subTest(text):
                self.assertEqual(len(figures.figures("it takes " + text + " there")), 1)

    def test_a_rule_in_words_may_name_a_unit_if_it_is_listed(self):
        rule = ("waits for fifty microseconds",)
        self.assertEqual(figures.figures("it waits for **fifty**\nmicroseconds", rule), [])
        took = figures.figures("it waits for fifty microseconds and takes fifty microseconds", rule)
        self.assertEqual(len(took), 1, "the same words elsewhere are no rule")
        gone = figures.figures("it waits", rule)
        self.assertIn("does not stand here", gone[0][1])
        digits = figures.figures("it waits for 50 microseconds", ("waits for 50 microseconds",))
        self.assertEqual(len(digits), 1, "a rule is said in words")

    def test_sizes_and_words_are_none(self):
        for text in [
            "a tile of 64 × 128", "m64n256", "1 × 8 heads × 512 × 64", "two times", "twice", "a third",
            "16k tokens", "2.0 TB of disk", "8 GiB", "sm_90", "0x10", "4·B·H", "head dim 128",
            "the 1980s", "H100s and H200s", "three hundredths", "FLOP/s", "lanes a second",
            "the other ones", "two CTAs", "one minus x", "16 bytes", "the second half", "64-bit",
            "20 chains", "one of us", "the last two",
        ]:
            with self.subTest(text):
                self.assertEqual(figures.figures(text), [])

    def test_a_generated_block_may_hold_figures_and_hides_no_others(self):
        self.assertEqual(figures.figures(f"it is {BLOCK} there\n"), [])
        page = f"x\n<!-- raceline:begin rates -->\n|5 %|\n<!-- raceline:end -->\nand 6 %\n{BLOCK} 7 %"
        self.assertEqual([line for line, _ in figures.figures(page)], [5, 6])

    def test_a_block_that_is_not_closed_hides_nothing(self):
        found = figures.figures("x\n<!-- raceline:begin rates -->\n5 %\n")
        self.assertEqual([line for line, _ in found], [2, 3])
        nested = "<!-- raceline:begin a --> <!-- raceline:begin b --> 5 % <!-- raceline:end -->"
        self.assertTrue(any("not closed" in what for _, what in figures.figures(nested)))

    def test_a_figure_smuggled_into_the_readme_fails(self):
        text = (SOURCE / "README.md").read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "README.md"
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                page.write_text(text, encoding="utf-8")
                self.assertEqual(figures.main([str(page)]), 0, said.getvalue())
                page.write_text(text + "\nIt is 1.21 times as fast.\n", encoding="utf-8")
                self.assertEqual(figures.main([str(page)]), 1)
            self.assertIn("README.md: line", said.getvalue())
            self.assertIn("'1.21 times'", said.getvalue())

    def test_pages_of_the_tree(self):
        names = [str(page.relative_to(SOURCE)) for page in figures.pages(SOURCE)]
        self.assertIn("README.md", names)
        self.assertIn("docs/engines/prefill_sm90.md", names)
        self.assertNotIn("docs/ladder.md", names)
        self.assertFalse([name for name in names if "notebooks" in name or "decisions" in name])
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(figures.main([]), 0, said.getvalue())


if __name__ == "__main__":
    unittest.main()
