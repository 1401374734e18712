# SPDX-License-Identifier: Apache-2.0
"""What the Dockerfile finds in an image in which nothing is installed, tried on a machine that has everything.

- `tools/bootstrap.sh build`, where no package is installed: which packages it asks apt-get for, and in what order.
- The headers, libraries and embedded files that the build folder's program and libraries were made from belong to those packages,
  to what these depend on, or to a bare Debian.
- CMake configures as tools/install.sh does, where no other programs are found than those of these packages.

BUILD: a folder that is built whole. Without dpkg all but the first are skipped.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: CMake looks for these and does without.
OPTIONAL = {"libdnnl-dev": "the matrix products of oneDNN", "emscripten": "the model in pages, as WebAssembly"}
#: Bare Debian's, which tools/bootstrap.sh and the fakes themselves need.
SHELL = ("sh", "dirname", "cat", "cmp")


def said_by(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def fake(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def asked_for() -> list[str]:
    """The lines that tools/bootstrap.sh build hands to apt-get, where dpkg knows of no package."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for program in SHELL:
            (folder / program).symlink_to(str(shutil.which(program)))
        fake(folder, "dpkg-query", "exit 1")
        fake(folder, "id", "echo 0")
        fake(folder, "apt-get", f'echo "$*" >>{folder}/asked')
        subprocess.run([str(ROOT / "tools/bootstrap.sh"), "build"], check=True, capture_output=True,
                       env={"PATH": name, "HOME": name})
        return (folder / "asked").read_text(encoding="utf-8").splitlines()


def packages_asked_for() -> list[str]:
    return [word for word in asked_for()[1].split()[1:] if not word.startswith("-")]


def names_in(text: str) -> list[list[str]]:
    """Of "a (>= 1) | b, c": [["a", "b"], ["c"]]."""
    return [[re.split(r"[ :(]", name.strip())[0] for name in one.split("|")] for one in text.split(",") if one.strip()]


class Installed:
    """The packages of this machine, by name, and those that a bare Debian or a list of packages brings."""

    def __init__(self) -> None:
        self.needs: dict[str, list[list[str]]] = {}
        self.providers: dict[str, list[str]] = {}
        self.bare: set[str] = set()
        form = "${Package}\t${Essential}\t${Priority}\t${Provides}\t${Pre-Depends}, ${Depends}\n"
        for line in said_by("dpkg-query", "-W", "-f", form).splitlines():
            name, essential, priority, provides, needs = line.split("\t")
            self.needs[name] = names_in(needs)
            for virtual in names_in(provides):
                self.providers.setdefault(virtual[0], []).append(name)
            if essential == "yes" or priority == "required":
                self.bare.add(name)

    def brought_by(self, names: set[str]) -> set[str]:
        found: set[str] = set()
        left = list(names)
        while left:
            name = left.pop()
            if name in found:
                continue
            if name not in self.needs:
                left += self.providers.get(name, [])
                continue
            found.add(name)
            for choices in self.needs[name]:
                there = [one for one in choices if one in self.needs or one in self.providers]
                left += there[:1]
        return found


def owners(files: set[str]) -> dict[str, set[str]]:
    """Which packages have each file; a file that none has is left out."""
    found: dict[str, set[str]] = {}
    for line in said_by("dpkg", "-S", *sorted(files)).splitlines():
        packages, _, file = line.rpartition(": ")
        if file in files:
            found[file] = {package.split(":")[0].strip() for package in packages.split(",")}
    return found


def built_from(build: Path) -> set[str]:
    """System headers, libraries and embedded files of everything but tests and the Python package."""
    files: set[str] = set()
    counts = False
    for line in said_by("ninja", "-C", str(build), "-t", "deps").splitlines():
        if line and not line.startswith(" "):
            counts = not line.startswith(("tests/", "python/", "ninja:"))
        elif counts and line.strip().startswith("/usr/"):
            files.add(os.path.normpath(line.strip()))
    commands = said_by("ninja", "-C", str(build), "-t", "commands", "raceline_cli", "raceline_shared")
    files |= set(re.findall(r"/usr/\S+\.(?:so|a)\b|/usr/share/[\w./+-]+\.\w+", commands))
    # A CUDA toolkit may come from packages, and the image has none.
    return {file for file in files if not file.startswith("/usr/local/")}


class FreshImage(unittest.TestCase):
    def test_lists_are_fetched_before_packages(self) -> None:
        lines = asked_for()
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[0], "^update ")
        self.assertRegex(lines[1], "^install -y --no-install-recommends ")
        self.assertLessEqual({"g++", "cmake", "ninja-build"}, set(packages_asked_for()))

    @unittest.skipUnless(shutil.which("dpkg-query"), "no dpkg here")
    def test_what_is_compiled_and_linked_comes_from_them(self) -> None:
        there = Installed()
        brought = there.bare | there.brought_by(set(packages_asked_for()) | there.bare)
        files = built_from(Path(os.environ["BUILD"]))
        self.assertGreater(len(files), 100)
        strange = {file: of for file, of in owners(files).items() if not of & (brought | set(OPTIONAL))}
        self.assertEqual(strange, {}, "files of packages that the image does not have")

    @unittest.skipUnless(shutil.which("dpkg-query"), "no dpkg here")
    def test_it_configures_with_their_programs_alone(self) -> None:
        there = Installed()
        brought = there.bare | there.brought_by(set(packages_asked_for()) | there.bare)
        line = re.search(r"cmake (--preset .*)$", (ROOT / "tools/install.sh").read_text(encoding="utf-8"), re.MULTILINE)
        assert line
        with tempfile.TemporaryDirectory() as name:
            programs = Path(name, "bin")
            programs.mkdir()
            for file in said_by("dpkg", "-L", *sorted(brought & set(there.needs))).splitlines():
                folder, _, program = file.rpartition("/")
                if folder in ("/bin", "/usr/bin") and Path(file).exists() and not (programs / program).exists():
                    (programs / program).symlink_to(file)
            for usual, real in (("c++", "g++"), ("cc", "gcc"), ("awk", "mawk")):  # made by update-alternatives
                if not (programs / usual).exists() and (programs / real).exists():
                    (programs / usual).symlink_to(programs / real)
            words = line[1].replace('"$build"', f"{name}/build").split()
            done = subprocess.run([str(programs / "cmake"), *words], cwd=ROOT, capture_output=True, text=True,
                                  check=False, env={"PATH": str(programs), "HOME": name})
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            self.assertTrue(Path(name, "build/build.ninja").exists())


if __name__ == "__main__":
    unittest.main()
