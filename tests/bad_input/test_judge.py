# SPDX-License-Identifier: Apache-2.0
"""The judge of answers refuses what it is there to find, and finds the smallest input for it."""

import contextlib
import math
import os
import signal
import stat
import tempfile
import time
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import command_line
import answer_rules
import answer_values
import run
from hypothesis import strategies as st


class Sentences(unittest.TestCase):
    def test_one_line_for_a_person(self):
        answer_rules.check_sentence("q is 3 µs; 1 is accepted", "a call")
        for sentence in ("", " ", "a\nb", "\x1b[2J", "\x9b", "\udcff", "std::bad_cast", "Traceback"):
            with self.assertRaises(answer_rules.Wrong, msg=ascii(sentence)):
                answer_rules.check_sentence(sentence, "a call")


class Children(unittest.TestCase):
    def test_what_they_say_comes_back(self):
        self.assertEqual(answer_rules.in_a_child(lambda: ["x" * 100_000, 1], "a call"), ["x" * 100_000, 1])

    def test_a_crash_and_a_hang_are_wrong(self):
        with self.assertRaisesRegex(answer_rules.Wrong, "signal"):
            answer_rules.in_a_child(lambda: os.kill(os.getpid(), signal.SIGSEGV), "a call")
        with mock.patch.object(answer_rules, "SECONDS", 0.2):
            with self.assertRaisesRegex(answer_rules.Wrong, "no answer"):
                answer_rules.in_a_child(lambda: time.sleep(60), "a call")


class Programs(unittest.TestCase):
    """Stand-ins for the program, each with one fault."""

    def judge(self, script, out="pipe"):
        with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
            program = Path(name) / "raceline"
            program.write_text("#!/bin/sh\n" + script)
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            stack.enter_context(mock.patch.object(command_line, "program", program))
            stack.enter_context(mock.patch.object(command_line, "folder", Path(name)))
            stack.enter_context(mock.patch.object(command_line, "SECONDS", 2.0))
            if out == "refused":
                command_line.check_refused(["predict"])
            else:
                command_line.check_words(["predict"], out)

    def test_what_is_right_passes(self):
        self.judge("echo fine")
        self.judge("echo raceline: no such device >&2; exit 3")
        self.judge("echo fine || exit 2", "full")
        self.judge("echo fine; kill -PIPE $$", "gone")

    def test_what_is_wrong_does_not(self):
        faults = {
            "a crash": "kill -SEGV $$", "no sentence": "exit 2", "an unknown exit": "exit 7",
            "a hang": "exec sleep 60", "silence": "exit 0", "a C++ name": "echo std::bad_alloc >&2; exit 2",
            "two lines": "printf 'a\\nb\\n' >&2; exit 3", "control": "printf 'a\\033[2J' >&2; exit 2",
        }
        for fault, script in faults.items():
            with self.assertRaises(answer_rules.Wrong, msg=fault):
                self.judge(script)
        for lost in ("full", "closed"):
            with self.assertRaisesRegex(answer_rules.Wrong, "were lost"):
                self.judge("echo fine 2>/dev/null; exit 0", lost)


    def test_nonsense_must_be_refused_in_one_sentence(self):
        judge = lambda script: self.judge(script, "refused")
        judge("echo raceline: bytes is -1 >&2; exit 2")
        for script in ("exit 0", "echo no >&2; exit 0", "echo no >&2; exit 3", "exit 2", "echo a row; echo no >&2; exit 2",
                       "printf 'a\\nb\\n' >&2; exit 2"):
            with self.assertRaises(answer_rules.Wrong, msg=script):
                judge(script)


    def test_what_is_printed_has_possible_values(self):
        self.judge("echo 'shape  of bound  time'; echo 'a          18 %  1 s'; echo; echo '120 % more, -5 %, 0 sets, nan stays'")
        for line in ("bound inf s", "bound 0 s", "saves -nan %", "takes -3.2 µs", "at nan TB/s", "speed-up inf×"):
            with self.assertRaises(answer_rules.Wrong, msg=line):
                self.judge(f"echo '{line}'")
        for share in ("101 %", " -1 %", "nan %"):
            with self.assertRaises(answer_rules.Wrong, msg=share):
                self.judge(f"echo 'shape  of bound  time'; echo 'a      {share:>8}  1 s'")

    def test_rows_have_possible_values(self):
        def row(least=1.0, **members):
            prediction = {"seconds": 2.0, "expected_seconds": 2.0, "uncalibrated_seconds": 2.0, "band": [1.5, 3.0],
                          "layer1": {"dram": 1.0}, "layer2": {"launch": 0.0}, **members}
            return {"prediction": prediction, "bound": {"seconds": least, "memory_seconds": 0.5, "compute_seconds": 0.0,
                                                        "launch_seconds": 1.0 if least == 1.0 else 0.0}}

        answer_values.check_row(row(), "a row")
        answer_values.check_row({"kind": "refusal"}, "a row")
        # A call of nothing but a launch whose time no rate tells.
        nothing = {"seconds": 0.0, "memory_seconds": 0.0, "compute_seconds": 0.0, "launch_seconds": 0.0,
                   "limiter": "launch", "rates": ""}
        answer_values.check_row({"bound": nothing, "prediction": {"seconds": 0.0}}, "a row")
        answer_values.check_row({"bound": nothing}, "a row")
        faults = [{"bound": {**nothing, "memory_seconds": 1.0}}, {"bound": nothing, "prediction": {"seconds": 1.0}},
                  {"bound": {**nothing, "limiter": "dram"}}, row(seconds=0.5), row(expected_seconds=0.5), row(seconds=math.nan), row(seconds=None), row(band=[0.0, 1.0]),
                  row(layer2={"launch": -1e-9}), row(least=0.0), row(least=math.inf), row(least=0.4),
                  {"measurement": {"seconds_median": 1.0, "seconds_low": 0.0, "seconds_high": 1.0}},
                  {"of_roof": math.inf, "bound_seconds": 1.0, "compute_seconds": 1.0, "memory_seconds": 0.0}]
        for fault in faults:
            with self.assertRaises(answer_rules.Wrong, msg=str(fault)):
                answer_values.check_row(fault, "a row")


class Rounds(unittest.TestCase):
    def test_a_failure_is_shrunk_and_comes_again_from_its_seed(self):
        def check(number):
            answer_rules.require(number < 1000, f"{number} is too large")

        module = SimpleNamespace(drawn=st.integers(), check=check)
        with mock.patch.dict(run.MODULES, {"integers": module}):
            found = run.spend("integers", 5, 1)
            self.assertIn("1000 is too large", found)
            name, _, seed = found.rpartition("--replay ")[2].partition(":")
            self.assertEqual(name, "integers")
            self.assertIn("1000 is too large", run.failure_of(name, int(seed)))


if __name__ == "__main__":
    unittest.main()
