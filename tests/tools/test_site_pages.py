# SPDX-License-Identifier: Apache-2.0
"""Lists of pages as the site's Markdown reads them, and what is refused of the built site. Skipped where
markdown-it-py is not installed; tools/lint.sh runs it in the environment that has it."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
try:
    import site_lists
except ImportError:
    site_lists = None
import site_paragraphs


@unittest.skipIf(site_lists is None, "markdown-it-py is not installed")
class Lists(unittest.TestCase):
    def written(self, text: str) -> str:
        return site_lists.with_wide_items(text)

    def test_what_belongs_to_an_item_stands_four_columns_right(self):
        self.assertEqual(self.written("- a\n\n  more\n- b\n"), "- a\n\n    more\n\n- b\n")
        self.assertEqual(self.written("1. a\n\n   more\n"), "1. a\n\n    more\n")
        self.assertEqual(self.written("- a\n  - b\n    c\n"), "- a\n    - b\n        c\n")

    def test_a_list_has_an_empty_line_before_it(self):
        self.assertEqual(self.written("These:\n- a\n- b\n"), "These:\n\n- a\n- b\n")

    def test_the_rest_stays(self):
        text = "A.\n\n    code\n\n```sh\n- no list\n  b\n```\n\n- a\n- b\n\n| a |\n|---|\n| - |\n"
        self.assertEqual(self.written(text), text)


class Paragraphs(unittest.TestCase):
    def test_a_list_or_a_fence_that_is_shown_as_text(self):
        for text in ("a\n- b", "a\n1. b", "```sh\na"):
            self.assertEqual(len(site_paragraphs.faults(f"<p>{text}</p>", False)), 1, text)
        self.assertEqual(site_paragraphs.faults("<p>a - b\n128. c</p><ul><li>- d</li></ul>", False), [])

    def test_long_ones(self):
        self.assertEqual(site_paragraphs.faults("<p>" + "word " * 90 + "</p>", False), [])
        long = "<p>" + "word " * 91 + "</p>"
        self.assertEqual(len(site_paragraphs.faults(long, False)), 1)
        self.assertEqual(site_paragraphs.faults(long, True), [])


if __name__ == "__main__":
    unittest.main()
