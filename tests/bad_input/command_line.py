# SPDX-License-Identifier: Apache-2.0
"""Bad input for the program: words, files and where its output goes."""

from __future__ import annotations

import gzip
import json
import os
import pathlib
import shlex
import signal
import subprocess
from dataclasses import dataclass
from typing import Any

from hypothesis import note
from hypothesis import strategies as st

import inputs
import nonsense
from answer_rules import INTERNALS, SECONDS, check_sentence, is_line, require
from answer_values import check_row, check_tables

EXITS = {0: "fine", 1: "a check failed", 2: "wrong usage or input", 3: "no such device"}
TINY = "b=1,h=2,q=3,k=5,d=8,dtype=fp32"

program = pathlib.Path()
folder = pathlib.Path()
whole: list[bytes] = []


def prepare(build: pathlib.Path, scratch: pathlib.Path) -> None:
    """A receipt, a page and a datasheet to be broken."""
    global program, folder
    program, folder = build / "raceline", scratch / "command_line"
    folder.mkdir()
    made = run(["bench", "--device", "cpu", "--kernel", "cpu_flash", "--shape", TINY,
                "--max-seconds", "0.01", "--receipts", "whole.jsonl"])
    require(made.exit == 0, f"no receipt to break: {made.err}")
    source = pathlib.Path(__file__).parents[2]
    whole[:] = [(folder / "whole.jsonl").read_bytes(), (source / "README.md").read_bytes(),
                (source / "devices/h200.json").read_bytes(), program.read_bytes()[:4096]]
    # A receipt as receipts/ stores it, and one that would fill the memory.
    whole.append(gzip.compress(whole[0], mtime=0))
    with gzip.open(folder / "bomb.gz", "wb") as bomb:
        bomb.write(whole[0])
        for _ in range(300):
            bomb.write(bytes(1 << 20))


@dataclass
class Ended:
    exit: int
    out: bytes
    err: str


def environment() -> dict[str, str]:
    return {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "RACELINE_SEED": "1",
            "XDG_STATE_HOME": str(folder / "state")}


def run(words: list[str], out: str = "pipe") -> Ended:
    """The program in the scratch folder. out: "pipe"; "full", a disk without space; "gone", a pipe
    that nobody reads; "closed", no descriptor at all."""
    stdout: Any = subprocess.PIPE
    if out == "full":
        stdout = os.open("/dev/full", os.O_WRONLY)
    elif out == "gone":
        read, stdout = os.pipe()
        os.close(read)
    command = [os.fsencode(word) for word in [str(program), *words]]
    if out == "closed":
        command = [b"sh", b"-c", b'exec "$@" >&-', b"sh", *command]
    try:
        with subprocess.Popen(command, cwd=folder, env=environment(), stdin=subprocess.DEVNULL,
                              stdout=stdout, stderr=subprocess.PIPE) as process:
            try:
                printed, said = process.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                require(False, f"{show(words)}: no end within {SECONDS:.0f} s")
    finally:
        if isinstance(stdout, int) and stdout >= 0:
            os.close(stdout)
    return Ended(process.returncode, printed or b"", said.decode(errors="surrogateescape"))


def show(words: list[str]) -> str:
    """The command as it can be typed again."""
    return "raceline " + shlex.join(word.encode("utf-8", "backslashreplace").decode()
                                    for word in words)


#: Commands whose numbers are the program's own: a report has those of its file.
FRESH = ("predict", "bench", "check", "point")


def check_printed(words: list[str], row: Any, about: str) -> None:
    if words[0] in FRESH and not any("replay:" in word for word in words):
        check_row(row, about)


def check_words(words: list[str], out: str) -> None:
    """Runs the program and judges how it ended."""
    ended = run(words, out)
    about = f"{show(words)} (stdout: {out})"
    if out == "gone" and ended.exit == -signal.SIGPIPE:
        return  # as every program ends in a pipe that nobody reads
    require(ended.exit in EXITS, f"{about}: exit {ended.exit}: {ended.err[-500:]}")
    for line in ended.err.split("\n"):
        require(is_line(line), f"{about}: {line!r} on stderr is no line of text")
    for word in INTERNALS:
        require(word not in ended.err, f"{about}: speaks of {word!r}: {ended.err[-500:]}")
    if ended.exit != 0:
        require(ended.err.strip() != "" or ended.exit == 1, f"{about}: fails without a sentence")
    elif out == "pipe":
        # Where nothing may stand at the cursor nothing is offered.
        require(bool(ended.out.strip() or ended.err.strip()) or words[:1] == ["__complete"],
                f"{about}: says nothing")
        if "--json" in words and "--help" not in words:
            for row in ended.out.splitlines():
                check_printed(words, json.loads(row), about)
        elif words[0] in FRESH and "--help" not in words:
            check_tables(ended.out.decode(), about)
    else:
        printed = run(words).out
        require(printed == b"", f"{about}: exit 0, and {len(printed)} bytes were lost")
    if ended.exit == 3:
        require(ended.err.count("\n") == 1, f"{about}: more than one line: {ended.err[-500:]}")


amounts = st.one_of(inputs.numbers, st.sampled_from(["1e-3", "1e12", "1e30", *nonsense.NO_AMOUNTS]))
file_names = st.sampled_from(["broken", "whole.jsonl", "nowhere", ".", "/dev/null", "/dev/zero",
                              "/dev/full", "/bin/sh", "", "new.jsonl", "broken/x", "bomb.gz", "new.jsonl.gz"])
# Relative ones alone: they are written to.
written_names = st.sampled_from(["broken", "whole.jsonl", "new.jsonl", "new.jsonl.gz", ".", "", "broken/x",
                                 "/dev/full",
                                 "/dev/null", "new/folder/r.jsonl"])
VALUES: dict[str, st.SearchStrategy[str]] = {
    "--shape": inputs.shapes(), "--suite": st.sampled_from(
        ["", "quickstrat", "random:", "random:-1", "random:18446744073709551616", "llama3-8b:0",
         "llama3-8b:", ":", "random:7:64"]),
    "--kernel": st.sampled_from(inputs.KERNELS), "--device": st.sampled_from(
        [*inputs.DEVICES, "replay:broken", "replay:whole.jsonl", "replay:.", "replay:/dev/zero"]),
    "--tile": st.sampled_from(["best", "all", "", "rows=", "rows=256", "rows=-1", "m=64", "=", ",",
                               "rows=256,rows=256", "rows=99999999999999999999"]),
    "--dtype": st.sampled_from(inputs.DTYPES), "--threads": inputs.numbers,
    "--seed": inputs.numbers, "--max-seconds": inputs.numbers,
    "--launch-path": st.sampled_from(["graph", "stream", "parallel", "", "paralel"]),
    "--regime": st.sampled_from(["sustained", "ALONE", ""]), "--rates": file_names,
    "--color": st.sampled_from(["auto", "always", "NEVER", "blue", ""]),
    "--flops": amounts, "--bytes": amounts, "--seconds": amounts,
    "--engine": st.sampled_from(["bf16", "fma.fp32", "flop.wgmma.bf16", "op.ex2", "", "bf"]),
    "--memory": st.sampled_from(["dram", "l2", "byte.l2", "", "l9"]),
    "--receipts": written_names, "--diff": st.sampled_from(inputs.KERNELS), "--commit": inputs.texts,
}
FLAGS = ["--json", "--warm", "--wide", "-v", "--explain", "--uncalibrated", "--check", "--repredict", "--ladder",
         "--docs", "--scorecard", "--markdown", "--if-missing", "--help", "--version", "--json=x"]


@st.composite
def options(draw: st.DrawFn) -> list[str]:
    """An option and its value, mostly of the kind that it takes."""
    if draw(st.integers(0, 3)) == 0:
        return [draw(st.sampled_from(FLAGS))]
    name = draw(st.sampled_from(sorted(VALUES)))
    value = draw(VALUES[name] if draw(st.integers(0, 5)) else inputs.texts)
    return draw(st.sampled_from([[name, value], [f"{name}={value}"], [name]] if
                                draw(st.integers(0, 9)) == 0 else [[name, value]]))


#: What a shell hands over while somebody writes.
lines_to_complete = st.lists(
    st.one_of(st.sampled_from(["raceline", "predict", "bench", "--device", "--tile", "--kernel", "--shape",
                               "h=8,", "h=8,dtype=", "--device=h", "plot", "'", "-", ""]), inputs.texts),
    max_size=5).map(" ".join)


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """Words that end soon: what runs a kernel gets a tiny shape first, and probes are not asked for."""
    command = draw(st.sampled_from(["devices", "kernels", "predict", "predict", "check", "bench",
                                    "report", "report", "measure", "point", "help", "completion",
                                    "__complete", "other"]))
    if command == "other":
        return draw(st.lists(inputs.texts, max_size=3))
    if command == "__complete":
        return [command, draw(lines_to_complete)]
    words = [command]
    if command in ("check", "bench", "predict"):
        words += ["--tile", "best"] if draw(st.booleans()) else []
        words += ["--shape", draw(inputs.shapes())]
    if command == "bench":
        words += ["--max-seconds", "0.001"]
    for _ in range(draw(st.integers(0, 3))):
        words += draw(options())
    if command in ("report", "point"):
        words += draw(st.lists(file_names, min_size=1, max_size=2))
    if command == "measure" and "--help" not in words:
        words += ["--device", draw(st.sampled_from(["", "h200", "nowhere"]))]
    if "--commit" in words:  # would build that commit's program
        words = [word for word in words if word not in ("--repredict", "--commit")]
    return words


def check_refused(words: list[str]) -> None:
    """What is nonsense ends with exit 2 and one sentence, and prints nothing."""
    ended = run(words)
    about = show(words)
    require(ended.exit == 2, f"{about}: exit {ended.exit}, and not 2: {ended.err[-500:]}")
    require(ended.out == b"", f"{about}: refuses, and prints {ended.out[:200]!r}")
    check_sentence(ended.err.removesuffix("\n"), about)


#: Words, the file `broken`, where the output goes, and whether the last word ends in bytes of no text; or
#: what must be refused, of which the third is "refused".
drawn = st.one_of(
    st.tuples(
        command_lines(), st.deferred(lambda: inputs.broken(whole)),
        st.sampled_from(["pipe", "pipe", "pipe", "full", "gone", "closed"]),
        st.integers(0, 15).map(lambda one: one == 0),
    ),
    nonsense.commands().map(lambda one: (*one, "refused", False)),
)


def check(one: tuple[list[str], bytes, str, bool]) -> None:
    words, content, out, bytes_of_no_text = one
    if bytes_of_no_text and words:
        words = [*words[:-1], words[-1] + "\udcff\udcc3"]
    words = [word.replace("\0", "") for word in words]
    (folder / "broken").write_bytes(content)
    if any("broken" in word for word in words):
        note(f"the file `broken` holds {content[:300]!r}")
    if out == "refused":
        check_refused(words)
        return
    check_words(words, out)
