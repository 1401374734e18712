#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what README.md, CONTRIBUTING.md and the pages of docs/ tell a reader to type, as it is written.

- Every line of a ```sh block runs in bash, page by page in a folder of its own, in which earlier lines
  of the page have left their files, variables and folder, as in one shell. `build/raceline` is the program given
  here. `raceline` is found where the page has put it on the path: README.md and docs/start.md by themselves, any
  other by the line of docs/start.md, behind which it is read. The newest run of the user is as `make demo` leaves
  it. Of `make`, the target is looked up (`make -n`), and that the Makefile reads the variables it is given.
- Blocks that `make docs` writes are what their command prints into a pipe, letter by letter.
- A ```csv block under `<!-- file: FILE -->` is that file, which commands of the page read. A ```zsh or ```fish
  block has the shell's grammar, where there is the shell, and its commands of raceline run.
- The ```python blocks of a page run one after another in one process, with the package given.
- A ```cpp block under `<!-- from: FILE -->` must stand in that file, but for white space: the examples
  are compiled and run by another test. The others compile, with the names of page_names.hpp. The same holds
  of ```c, where the blocks of a page are one function, with the names of page_names.h.
- A ```cmake block configures, in a project that has a program `mine`, against the package that is installed
  from the build folder. A ```json block is read.
- A command in a sentence, `raceline predict --explain`, names a command and options that there are. One that
  only looks something up and has no word for the reader to fill in runs, too. So does `make` in a sentence, as
  above; a script of tools/ or bench/ is there; pip is in LEFT_OUT.

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
FENCED = re.compile(r"^(?P<marker><!-- (?P<what>from|file): (?P<file>\S+) -->\n)?(?P<indent> *)```(?P<language>\w*)\n"
                    r"(?P<text>.*?)^ *```$", re.DOTALL | re.MULTILINE)
#: What a generated block shows, and the command that it stands for.
OUTPUT = re.compile(r"<!-- raceline:begin output [^\n]* -->\n```sh\n(?P<command>.*?)```\n\n```text\n(?P<text>.*?)```",
                    re.DOTALL)
ANSWER = re.compile(r"<!-- raceline:begin answer device=(?P<device>\S+) shape=(?P<shape>\S+) -->\n```text\n(?P<text>.*?)```",
                    re.DOTALL)
#: In a sentence: what is no command of raceline.
OTHER_INLINE = re.compile(r"`((?:\w+=\S+ )*(?:make|pip|tools/[^`\s]+|bench/[^`\s]+\.py)(?: [^`]*)?)`")
#: The line that puts the program on the path, which docs/start.md has and every other page begins behind.
ON_PATH = re.compile(r"^ *(export PATH=\$PWD/build:\$PATH)\b", re.MULTILINE)
#: Pages that a reader may open first.
FIRST_PAGES = {"README.md", "docs/start.md"}
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
    "pip install .": "compiles the library anew, which takes minutes; tools/release.sh runs it, after the wheel of the CPU",
    "pip wheel": "compiles the library anew, which takes minutes; tools/release.sh runs it with options of its own",
    "my_kernel": "the test new_kernel_folder, with a kernel that it writes",
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
        self.other_shells: list[tuple[str, str]] = []
        self.files: dict[str, str] = {}
        self.json = 0
        text = path.read_text(encoding="utf-8")
        for block in FENCED.finditer(text):
            self.take(block)
        self.outputs = [(block["command"].replace("\\\n", " ").strip(), block["text"]) for block in OUTPUT.finditer(text)]
        self.answers = [(f"raceline predict --device {block['device']} --shape {block['shape']}", block["text"])
                        for block in ANSWER.finditer(text)]
        said = " ".join(FENCED.sub("", text).split())
        self.other_inline = sorted({one for one in OTHER_INLINE.findall(said) if not left_out(one)})
        self.inline = sorted({" ".join(said.split()) for said in INLINE.findall(FENCED.sub("", text))})

    def has_anything(self) -> bool:
        return any([self.faults, self.commands, self.python, self.cpp, self.c, self.cmake, self.json,
                    self.inline, self.other_inline, self.other_shells, self.outputs, self.answers])

    def read_json(self, text: str) -> None:
        self.json += 1
        try:
            json.loads(text)
        except ValueError as error:
            self.faults.append(f"its JSON: {error}")

    def take(self, block: re.Match[str]) -> None:
        text, language = textwrap.dedent(block["text"]), block["language"]
        if block["what"] == "file":
            self.files[block["file"]] = text
        elif block["marker"]:
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
        elif language in ("zsh", "fish"):
            self.other_shells.append((language, text))
        elif language in ("", "bash", "shell", "console"):
            self.faults += [f"a command in a block that is not ```sh: {line.strip()}"
                            for line in text.splitlines() if COMMAND.match(line)]


def failure(command: list[str], folder: str, environment: dict[str, str], limit: int = 120) -> str:
    """What went wrong; empty: nothing did."""
    return outcome(command, folder, environment, limit)[0]


def outcome(command: list[str], folder: str, environment: dict[str, str], limit: int = 120) -> tuple[str, str]:
    """What went wrong, or nothing; and what was printed."""
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return f"takes more than {limit} seconds", ""
    fault = "" if done.returncode == 0 else f"exit {done.returncode}: {(done.stderr or done.stdout).strip()[-600:]}"
    own_run = re.search(r"\w+\.jsonl", command[-1])
    if done.returncode == 2 and "raceline plot" in command[-1] and own_run and "settled" in done.stdout + done.stderr:
        fault = ""  # a run of a moment ago, on a busy machine
    return fault, done.stdout


def unread_variables(line: str) -> list[str]:
    """Those that a line gives to make, and that the Makefile does not read."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    given = re.findall(r"(?:^|\s)([A-Za-z_]\w*)=", re.sub(r"#.*|\"[^\"]*\"|'[^']*'", "", line))
    return [name for name in given if not re.search(rf"\b{name} *\?=|\$\({name}\)|\b{name}=1 ", makefile)]


class Machine:
    """A folder as the reader's clone, and his environment."""

    def __init__(self, folder: str, arguments: argparse.Namespace) -> None:
        self.folder, self.arguments = folder, arguments
        clone = Path(folder, "clone")
        (clone / "build").mkdir(parents=True)
        (clone / "build" / "raceline").symlink_to(Path(arguments.raceline).resolve())
        (clone / "receipts").symlink_to(ROOT / "receipts")
        self.clone = str(clone)
        self.environment = {**os.environ, "RACELINE_NO_INSTALL": "1", "XDG_STATE_HOME": f"{folder}/state"}
        self.environment.pop("COLUMNS", None)  # of the terminal that the test was started in
        #: What the lines before left behind: lines of a page are those of one shell.
        self.left = Path(folder, "left.sh")

    def put_on_path(self) -> None:
        """As docs/start.md has it, from where every page but the first ones is reached."""
        line = ON_PATH.search((ROOT / "docs/start.md").read_text(encoding="utf-8"))
        if not line:
            raise SystemExit("page_commands: docs/start.md does not say how raceline comes on the path")
        self.shell(line[1])

    def bench(self) -> None:
        """Runs that a reader is said to have: his newest, and files of two."""
        for receipts in ("", "--receipts before.jsonl", "--receipts after.jsonl"):
            fault = self.shell(f"raceline bench {SHORT} {receipts}")
            if fault:
                raise SystemExit(f"page_commands: no run to begin with: {fault}")
        shutil.copy(Path(self.clone, "before.jsonl"), Path(self.clone, "run.jsonl"))
        # The newest is as `make demo` leaves it: the whole suite, settled.
        evidence = json.loads((ROOT / "docs/evidence.json").read_text(encoding="utf-8"))
        demo = json.dumps(evidence["cpu-quickstart"])
        file = re.search(r"receipts/[^\"]*\.jsonl(?:\.gz)?", demo)
        if not file:
            raise SystemExit("page_commands: docs/evidence.json names no receipt cpu-quickstart")
        newest = Path(self.folder, "state", "raceline", "2099-" + Path(file[0]).name)
        newest.write_bytes((ROOT / file[0]).read_bytes())

    def with_runs_of(self, other: "Machine") -> "Machine":
        shutil.copytree(Path(other.folder, "state"), Path(self.folder, "state"))
        for file in Path(other.clone).glob("*.jsonl"):
            shutil.copy(file, self.clone)
        return self

    def shell(self, line: str) -> str:
        return self.printed(line)[0]

    def printed(self, line: str) -> tuple[str, str]:
        """What went wrong with a line, or nothing; and what it printed."""
        made = re.match(r"\s*((?:\w+=\S+ )*)make\b(.*)", line)
        if made:
            unread = unread_variables(made[1] + made[2])
            if unread:
                return f"the Makefile reads no {', '.join(unread)}", ""
            return outcome(["bash", "-c", f"{made[1]}make -n {made[2]}"], str(ROOT), self.environment)
        limit = 400 if "raceline measure" in line else 120  # on a machine that has no ceilings yet
        shared = f"[ ! -f {self.left} ] || . {self.left}\nset -euo pipefail\n{line}\nset +u; declare -px >{self.left}"
        return outcome(["bash", "-c", shared], self.clone, self.environment, limit)

    def checked_by(self, shell: str, text: str) -> str:
        """A block for another shell: its grammar, where the shell is there, and what of it is raceline's."""
        if shutil.which(shell):
            fault = failure([shell, "-n", "-c", text] if shell == "zsh" else [shell, "--no-execute", "-c", text],
                            self.clone, self.environment)
            if fault:
                return fault
        for command in re.findall(r"raceline [^|)#\n]*", text):
            fault = self.shell(f"{command} >/dev/null")
            if fault:
                return fault
        return ""

    def shows(self, command: str, text: str, whole: bool = True) -> str:
        """Whether the command prints what the page shows below it, or begins with that."""
        fault, printed = self.printed(command)
        if fault:
            return fault
        if printed == text if whole else printed.startswith(text):
            return ""
        ours, theirs = printed.splitlines(), text.splitlines()
        at = next((i for i, line in enumerate(theirs) if i >= len(ours) or ours[i] != line), len(theirs))
        return (f"prints something else than the page shows, in line {at + 1}: "
                f"{ours[at] if at < len(ours) else 'nothing'!r} (make docs)")

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
            failure(["cmake", "-S", str(project), "-B", str(project / "build"), f"-DCMAKE_PREFIX_PATH={prefix}",
                     # What only the program needs, a user of the library need not have.
                     "-DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON"],
                    self.folder, self.environment)

    def other_in_a_sentence(self, said: str) -> str:
        """make, tools/ and bench/: what is named is there. pip is in LEFT_OUT, or a fault."""
        if FILLED_IN.search(re.sub(r"\b[A-Z_]+=", "", said)) and not said.startswith(("tools/", "bench/")):
            return ""
        if said.startswith("pip"):
            return "nobody runs it: name it in LEFT_OUT, with the reason" if " " in said else ""
        if said.startswith(("tools/", "bench/")):
            return "" if list(ROOT.glob(said.split()[0])) else "there is no such file"
        return self.shell(said)

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
    for name, text in page.files.items():
        Path(machine.clone, name).write_text(text, encoding="utf-8")
    if page.name not in FIRST_PAGES:
        machine.put_on_path()
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
    for shell, text in page.other_shells:
        fault = machine.checked_by(shell, text)
        if fault:
            found.append(f"its {shell}: {fault}")
    for command, text in page.outputs:
        fault = machine.shows(command, text)
        if fault:
            found.append(f"{command}: {fault}")
    for command, text in page.answers:
        fault = machine.shows(command, text, whole=False)
        if fault:
            found.append(f"{command}: {fault}")
    for said in page.other_inline:
        fault = machine.other_in_a_sentence(said)
        if fault:
            found.append(f"`{said}`: {fault}")
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
        run.put_on_path()
        run.bench()
        return judged(arguments, run)


def judged(arguments: argparse.Namespace, run: Machine) -> int:
    wrong = commands = blocks = 0
    for page in [Page(path.resolve()) for path in arguments.pages or pages()]:
        if not page.has_anything():
            continue
        commands += len(page.commands) + len(page.inline) + len(page.other_inline)
        commands += len(page.outputs) + len(page.answers)
        blocks += len(page.python) * bool(arguments.python_path) + len(page.cpp) * bool(arguments.cxx) + page.json
        blocks += len(page.c) * bool(arguments.cc) + len(page.cmake) * bool(arguments.build)
        blocks += len(page.other_shells)
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
