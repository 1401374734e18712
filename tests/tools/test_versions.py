# SPDX-License-Identifier: Apache-2.0
"""Every file that describes the project says the same: version, names, licence and keywords.

The version of CMakeLists.txt is the one that the program, the library and the Python package have.
"""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def first(pattern: str, name: str) -> str:
    found = re.search(pattern, text(name), re.MULTILINE | re.DOTALL)
    assert found, f"{name} has nothing like {pattern}"
    return " ".join(found[1].split())


def cited(key: str) -> str:
    """A scalar of CITATION.cff."""
    return first(rf"^{key}: (?:>-\n)?(.*?)\n(?=\S|\Z)", "CITATION.cff").strip('"')


class Versions(unittest.TestCase):
    def test_one_version(self) -> None:
        version = first(r"^project\(raceline VERSION ([0-9.]+)", "CMakeLists.txt")
        self.assertEqual(cited("version"), version)
        self.assertEqual(first(r"^## (?:Unreleased \()?([0-9.]+)", "CHANGELOG.md"), version)
        # The Python package reads CMakeLists.txt.
        pattern = first(r"^regex = '(.*?)'$", "pyproject.toml")
        self.assertEqual(first(pattern.replace("?P<value>", ""), "CMakeLists.txt"), version)
        self.assertEqual(first(r'^dynamic = (\[.*?\])', "pyproject.toml"), '["version"]')

    def test_one_description(self) -> None:
        said = first(r'^description = "(.*?)"', "pyproject.toml")
        self.assertEqual(cited("title"), f"raceline: {said[0].lower()}{said[1:]}")
        for page in ("README.md", "docs/index.md", "mkdocs.yml"):
            self.assertIn(said, text(page), page)
        # What it predicts, by the same words as the first paragraph of README.
        readme, abstract = " ".join(text("README.md").split()), cited("abstract")
        for words in ("what will limit the kernel and how long it will take before it runs",
                      "prediction and measurement in one receipt"):
            self.assertIn(words, readme)
            self.assertIn(words, abstract)

    def test_one_licence_and_one_author(self) -> None:
        self.assertEqual(cited("license"), "Apache-2.0")
        self.assertEqual(first(r'^license = "(.*?)"', "pyproject.toml"), "Apache-2.0")
        self.assertIn("Apache License", text("LICENSE"))
        self.assertEqual(first(r'^authors = \[\{ ?name = "(.*?)"', "pyproject.toml"),
                         first(r'name: "(.*?)"', "CITATION.cff"))

    def test_the_same_keywords(self) -> None:
        keywords = re.findall(r"^  - ([\w -]+)$", text("CITATION.cff"), re.MULTILINE)
        self.assertTrue(keywords)
        self.assertEqual(re.findall(r'"(.*?)"', first(r"^keywords = \[(.*?)\]", "pyproject.toml")), keywords)


if __name__ == "__main__":
    unittest.main()
