#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what README.md, CONTRIBUTING.md and the pages of docs/ tell a reader to type, as it is written.

- Every line of a ```sh block runs in bash, page by page in a folder of its own, in which earlier lines
  of the page have left their files. `raceline` and `build/raceline` are the program given here, and the
  newest run of the user is one of a tiny shape. Of `make`, the target is looked up (`make -n`).
- The ```python blocks of a page run one after another in one process, with the package given.
- A ```cpp block under `<!-- from: FILE -->` must stand in that file, but for white space: the examples
  are compiled and run by another test. The others compile, with the names of page_names.hpp. The same holds
  of ```c, where the blocks of a page are one function, with the names of page_names.h.
- A ```cmake block configures, in a project that has a program `mine`, against the package that is installed
  from the build folder. A ```json block is read.
- A command in a sentence, `raceline predict --explain`, names a command and options that there are. One that
  only looks something up and has no word for the reader to fill in runs, too.

What a test does not have stands in LEFT_OUT, with the reason. A part of it that no line has any more is a
fault, and so is a command in a block of no language, where nobody would run it.

Usage: page_commands.py RACELINE [--python-path FOLDER] [--cxx COMPILER] [--cc COMPILER] [--build FOLDER] [PAGE...]
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCED = re.compile(r"^(?P<marker><!-- from: (?P<file>\S+) -->\n)?(?P<indent> *)```(?P<language>\w*)\n"
                    r"(?P<text>.*?)^ *```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`(?:build/)?raceline ([a-z]+\b[^`]*)`")
#: Commands that write nothing and take no time.
LOOKS_UP = {"completion", "devices", "help", "kernels", "predict"}
#: What the reader fills in: FILE, <name>, an ellipsis.
FILLED_IN = re.compile(r"\b[A-Z]{3,}\b|[<…\[]|\.\.\.")
COMMAND = re.compile(r"\s*(?:(?:build/)?raceline |(?:make|cmake|ctest|pip|git|python3?) |tools/|bench/)")

#: By what the line or block says, and why it is left out.
LEFT_OUT = {
    "git clone": "the address is for the reader to fill in",
    "cmake --preset auto && cmake --build": "the test installed_package, on the folder that is built already",
    "cmake --install build": "the test installed_package",
    "pip install .": "tools/release.sh installs the wheel, which is the same package",
    "pip wheel .": "tools/release.sh",
    "my_kernel": "the test new_kernel_folder, with a kernel that it writes",
    "kernels.csv": "a file of the reader's; the test of `raceline point` has one",
    "plot compare": "a run beside other libraries; the test of pictures has one",
    "bench/compare.py": "PyTorch and the libraries beside which it measures",
    "bench/errors.py": "PyTorch and a GPU",
    "bench/peer_wheels.py": "gigabytes from a package index",
    "# all of receipts/": "a minute; the test page_in_browser writes this page",
    "bench --device cpu --op": "a minute of measuring",
    "from_pretrained": "transformers, and a model's weights; python/tests has one without",
    "json.loads(text)": "a line of receipts/index.jsonl that the page describes",
}
#: Code of internals, which stands in no public header.
INTERNAL = {"CONTRIBUTING.md", "docs/guides/kernel.md", "docs/receipts.md"}
SHORT = "--device cpu --max-seconds 0.01 --shape h=2,q=64,k=64,d=64,dtype=fp32"
used: set[str] = set()


def pages() -> list[Path]:
    """All but notebooks and decisions, which tell what was done once."""
    docs = [page for page in sorted((ROOT / "docs").rglob("*.md"))
            if not {"notebooks", "decisions"} & set(page.parts)]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *docs]


def left_out(text: str) -> bool:
    said = " ".join(text.split())
    parts = {part for part in LEFT_OUT if part in said}
    used.update(parts)
    return bool(parts)


class Page:
    def __init__(self, path: Path) -> None:
        self.name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
        self.faults: list[str] = []
        self.commands: list[str] = []
        self.python: list[str] = []
        self.cpp: list[str] = []
        self.c: list[str] = []
        self.cmake: list[str] = []
        self.json = 0
        text = path.read_text(encoding="utf-8")
        for block in FENCED.finditer(text):
            self.take(block)
        self.inline = sorted({" ".join(said.split()) for said in INLINE.findall(FENCED.sub("", text))})

    def has_anything(self) -> bool:
        return any([self.faults, self.commands, self.python, self.cpp, self.c, self.cmake, self.json, self.inline])

    def read_json(self, text: str) -> None:
        self.json += 1
        try:
            json.loads(text)
        except ValueError as error:
            self.faults.append(f"its JSON: {error}")

    def take(self, block: re.Match[str]) -> None:
        text, language = textwrap.dedent(block["text"]), block["language"]
        if block["marker"]:
            source = (ROOT / block["file"]).read_text(encoding="utf-8")
            if " ".join(text.split()) not in " ".join(source.split()):
                self.faults.append(f"does not stand in {block['file']}: {text.splitlines()[0]} ...")
        elif language == "sh":
            lines = text.replace("\\\n", " ").splitlines()
            self.commands += [line for line in lines if line.strip() and not left_out(line)]
        elif language == "python" and not left_out(text):
            self.python.append(text)
        elif language == "cpp" and self.name not in INTERNAL:
            self.cpp.append(text)
        elif language == "c":
            self.c.append(text)
        elif language == "cmake":
            self.cmake.append(text)
        elif language == "json":
            self.read_json(text)
        elif language in ("", "bash", "shell", "console"):
            self.faults += [f"a command in a block that is not ```sh: {line.strip()}"
                            for line in text.splitlines() if COMMAND.match(line)]


def failure(command: list[str], folder: str, environment: dict[str, str], limit: int = 120) -> str:
    """What went wrong; empty: nothing did."""
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return f"takes more than {limit} seconds"
    said = done.stdout + done.stderr
    if done.returncode == 2 and "raceline plot" in command[-1] and "settled" in said:
        return ""  # the reader's own run, on a busy machine
    return "" if done.returncode == 0 else f"exit {done.returncode}: {(done.stderr or done.stdout).strip()[-600:]}"


class Machine:
    """A folder as the reader's clone, and his environment."""

    def __init__(self, folder: str, arguments: argparse.Namespace) -> None:
        self.folder, self.arguments = folder, arguments
        clone = Path(folder, "clone")
        (clone / "build").mkdir(parents=True)
        (clone / "build" / "raceline").symlink_to(Path(arguments.raceline).resolve())
        (clone / "receipts").symlink_to(ROOT / "receipts")
        self.clone = str(clone)
        self.environment = {**os.environ, "PATH": f"{clone}/build:{os.environ['PATH']}", "RACELINE_NO_INSTALL": "1",
                            "XDG_STATE_HOME": f"{folder}/state"}

    def bench(self) -> None:
        """Runs that a reader is said to have: his newest, and files of two."""
        for receipts in ("", "--receipts before.jsonl", "--receipts after.jsonl"):
            fault = self.shell(f"raceline bench {SHORT} {receipts}")
            if fault:
                raise SystemExit(f"page_commands: no run to begin with: {fault}")
        shutil.copy(Path(self.clone, "before.jsonl"), Path(self.clone, "run.jsonl"))

    def with_runs_of(self, other: "Machine") -> "Machine":
        shutil.copytree(Path(other.folder, "state"), Path(self.folder, "state"))
        for file in Path(other.clone).glob("*.jsonl"):
            shutil.copy(file, self.clone)
        return self

    def shell(self, line: str) -> str:
        made = re.match(r"\s*make (.*)", line)
        if made:
            return failure(["bash", "-c", f"make -n {made[1]}"], str(ROOT), self.environment)
        limit = 400 if "raceline measure" in line else 120  # on a machine that has no ceilings yet
        return failure(["bash", "-euo", "pipefail", "-c", line], self.clone, self.environment, limit)

    def python(self, text: str) -> str:
        environment = {**self.environment, "PYTHONPATH": str(Path(self.arguments.python_path).resolve())}
        return failure([sys.executable, "-B", "-c", text], self.clone, environment)

    def compiled(self, blocks: list[str]) -> str:
        code = '#include "page_names.hpp"\n'
        for number, block in enumerate(blocks):
            code += "".join(f"{line}\n" for line in block.splitlines() if line.startswith("#include"))
            body = "".join(f"{line}\n" for line in block.splitlines() if not line.startswith("#include"))
            code += f"void block_{number}() {{\n{body}}}\n"
        file = Path(self.folder, "blocks.cpp")
        file.write_text(code, encoding="utf-8")
        return failure([*self.arguments.cxx.split(), "-std=c++20", "-fsyntax-only", "-I", str(ROOT / "include"), "-I",
                        str(Path(__file__).parent), str(file)], self.folder, self.environment)

    def compiled_c(self, blocks: list[str]) -> str:
        outside = re.compile(r"#include|static ")
        lines = [line for block in blocks for line in block.splitlines()]
        code = '#include "page_names.h"\n'
        code += "".join(f"{line}\n" for line in lines if outside.match(line))
        code += "void blocks(int argc, const char* const* argv);\nvoid blocks(int argc, const char* const* argv) {\n"
        code += "".join(f"{line}\n" for line in lines if not outside.match(line)) + "}\n"
        file = Path(self.folder, "blocks.c")
        file.write_text(code, encoding="utf-8")
        return failure([*self.arguments.cc.split(), "-std=c11", "-fsyntax-only", "-Werror=implicit-function-declaration",
                        "-Werror=incompatible-pointer-types", "-I", str(ROOT / "include"), "-I",
                        str(Path(__file__).parent), str(file)], self.folder, self.environment)

    def configured(self, block: str) -> str:
        project = Path(self.folder, "project")
        shutil.rmtree(project, ignore_errors=True)
        project.mkdir()
        (project / "mine.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
        (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(mine C CXX)\n"
                                                f"add_executable(mine mine.c)\n{block}", encoding="utf-8")
        if "raceline.tar.gz" in block:
            # Like tools/release.sh, but of the files as they are, without the receipts, which take time to pack.
            files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
            kept = "\n".join(file for file in files.splitlines() if not re.match(r"receipts/.*\.gz$", file))
            archive = str(project / "raceline.tar.gz")
            subprocess.run(["tar", "-czf", archive, "--transform", "s|^|raceline/|", "-T", "-"],
                           cwd=ROOT, input=kept, text=True, check=True)
        prefix = Path(self.folder, "installed")
        return failure(["cmake", "--install", str(Path(self.arguments.build).resolve()), "--prefix", str(prefix), "--component", "raceline"],
                       self.folder, self.environment) or \
            failure(["cmake", "-S", str(project), "-B", str(project / "build"), f"-DCMAKE_PREFIX_PATH={prefix}"],
                    self.folder, self.environment)

    def in_a_sentence(self, said: str) -> str:
        command, *words = said.split()
        for word in words:
            if not word.startswith("-"):
                continue
            # Shells ask the program what may stand somewhere; short options are only in the help.
            name = word.partition("=")[0]
            there = f"raceline help {command} | grep -E -- '(^|[ ,]){name}\\b' >/dev/null"
            if self.shell(there):
                return f"`raceline {command}` has no option {name}"
        if command in LOOKS_UP and words and not FILLED_IN.search(said):
            return self.shell(f"raceline {said}")
        return self.shell(f"raceline help {command} >/dev/null") if command != "help" else ""


def faults_of(page: Page, machine: Machine) -> list[str]:
    found = list(page.faults)
    for line in page.commands:
        fault = machine.shell(line)
        if fault:
            found.append(f"{line}\n    {fault}")
    if page.python and machine.arguments.python_path:
        fault = machine.python("\n".join(page.python))
        if fault:
            found.append(f"its Python: {fault}")
    if page.cpp and machine.arguments.cxx:
        fault = machine.compiled(page.cpp)
        if fault:
            found.append(f"its C++: {fault}")
    if page.c and machine.arguments.cc:
        fault = machine.compiled_c(page.c)
        if fault:
            found.append(f"its C: {fault}")
    for block in page.cmake if machine.arguments.build else []:
        fault = machine.configured(block)
        if fault:
            found.append(f"its CMake: {fault}")
    for said in page.inline:
        fault = machine.in_a_sentence(said)
        if fault:
            found.append(f"`raceline {said}`: {fault}")
    return found


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("raceline")
    parser.add_argument("--python-path", default="", help="the folder of the package raceline; empty: no Python runs")
    parser.add_argument("--cxx", default="", help="a C++ compiler; empty: no C++ is compiled")
    parser.add_argument("--cc", default="", help="a C compiler; empty: no C is compiled")
    parser.add_argument("--build", default="", help="a folder built whole; empty: no CMake is configured")
    parser.add_argument("pages", nargs="*", type=Path)
    arguments = parser.parse_intermixed_args(words)
    with tempfile.TemporaryDirectory() as first:
        run = Machine(first, arguments)
        run.bench()
        return judged(arguments, run)


def judged(arguments: argparse.Namespace, run: Machine) -> int:
    wrong = commands = blocks = 0
    for page in [Page(path.resolve()) for path in arguments.pages or pages()]:
        if not page.has_anything():
            continue
        commands += len(page.commands) + len(page.inline)
        blocks += len(page.python) * bool(arguments.python_path) + len(page.cpp) * bool(arguments.cxx) + page.json
        blocks += len(page.c) * bool(arguments.cc) + len(page.cmake) * bool(arguments.build)
        with tempfile.TemporaryDirectory() as folder:
            found = faults_of(page, Machine(folder, arguments).with_runs_of(run))
        for fault in found:
            print(f"{page.name}: {fault}")
        wrong += len(found)
    if not arguments.pages:
        for part in sorted(set(LEFT_OUT) - used):
            print(f"page_commands: no page has {part!r} any more: take it out of LEFT_OUT")
            wrong += 1
    print(f"{commands} commands and {blocks} blocks of code, {wrong} failed")
    return 1 if wrong or not commands + blocks else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
