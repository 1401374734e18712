# SPDX-License-Identifier: Apache-2.0
"""What tools/prose.py refuses and lets pass. Skipped where markdown-it-py is not installed; tools/lint.sh
runs it in the environment that has it."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tools"))
try:
    import prose
except ImportError:
    prose = None


@unittest.skipIf(prose is None, "markdown-it-py is not installed")
class Prose(unittest.TestCase):
    def faults(self, text: str, name: str = "page.md") -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / name
            page.write_text(text, encoding="utf-8")
            found = prose.of_page(page) if name.endswith(".md") else prose.of_source(page)
            return [what for _, what in found]

    def test_sentences_and_paragraphs(self):
        self.assertEqual(self.faults("word " * 34 + "word.\n"), [])
        self.assertIn("a sentence of 36 words", self.faults("word " * 35 + "word.\n")[0])
        self.assertEqual(self.faults(("One two three four five. " * 18) + "\n"), [])
        self.assertIn("a paragraph of 95 words", self.faults(("One two three four five. " * 19) + "\n")[0])
        self.assertEqual(self.faults("```sh\n" + "word\n" * 99 + "\n```\n"), [])

    def test_lines_of_code(self):
        self.assertEqual(self.faults("```sh\n" + "µ" * 100 + "\n```\n"), [])
        self.assertIn("a line of code of 101 columns", self.faults("```sh\n" + "x" * 101 + "\n```\n")[0])

    def test_a_file_that_is_none(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertEqual(prose.main(["docs/nosuch.md"]), 2)
        self.assertIn("docs/nosuch.md is no file", said.getvalue())

    def test_the_end_of_a_sentence(self):
        half = "word " * 20
        self.assertEqual(self.faults(half + "end. And " + half + "end.\n"), [])
        self.assertEqual(self.faults(half + "end. `name` " + half + "end.\n"), [])
        self.assertEqual(self.faults(half + "the device's. The " + half + "end.\n"), [])
        self.assertEqual(len(self.faults(half + "e.g. A " + half + "end.\n")), 1)

    def test_tables_as_a_terminal_shows_them(self):
        table = "| a | b |\n|---|---|\n| {} | x |\n"
        self.assertEqual(self.faults(table.format("x" * 92)), [])
        self.assertEqual(self.faults(table.format("x" * 93)), ["a table of 101 columns"])
        link = "[" + "x" * 80 + "](https://example.org/" + "y" * 80 + ")"
        self.assertEqual(self.faults(table.format(link)), [])
        block = "<!-- raceline:begin cases -->\n" + table.format("x" * 93) + "<!-- raceline:end -->\n"
        self.assertEqual(self.faults(block), ["a table of 101 columns"])
        self.assertEqual(self.faults("<!-- raceline:begin a -->\n" + "word " * 50 + "\n<!-- raceline:end -->\n"), [])

    def test_private_nouns(self):
        self.assertIn("'visit' may not come back", self.faults("Two visits to a machine.\n")[0])
        self.assertEqual(self.faults("It is `visit`, and a visitor.\n"), [])

    def test_messages(self):
        self.assertEqual(self.faults('fail("no such file");\n// ' + "word " * 50 + "\n", "a.cpp"), [])
        long = 'fail("' + "word " * 20 + '"\n     "' + "word " * 20 + '");\n'
        self.assertIn("a sentence of 40 words", self.faults(long, "a.cpp")[0])
        self.assertIn("'scribe'", self.faults('fail("ask the scribe for it");\n', "a.cpp")[0])

    def test_comments_of_a_header(self):
        half = "word " * 20
        with tempfile.TemporaryDirectory() as folder:
            header = Path(folder) / "a.hpp"
            header.write_text(f"/// {half}\n/// {half}\nint a;  ///< {half}\nint b;  ///< {half}\n// {half * 3}\n")
            self.assertEqual([what[:22] for _, what in prose.of_header(header)], ["a sentence of 40 words"])

    def test_docstrings(self):
        half = "word " * 20
        with tempfile.TemporaryDirectory() as folder:
            module = Path(folder) / "a.py"
            module.write_text(f'def f(a):\n    """{half}\n\n    a: {half}\n    {half}\n    """\n')
            self.assertEqual([what[:22] for _, what in prose.of_docstrings(module)], ["a sentence of 41 words"])


if __name__ == "__main__":
    unittest.main()
