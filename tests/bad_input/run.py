# SPDX-License-Identifier: Apache-2.0
"""Draws bad input for the command line, the C interface and the Python package, for a while.

    build-venv/bin/python tests/bad_input/run.py --build build [--seconds 45] [--seed N]
    build-venv/bin/python tests/bad_input/run.py --build build --replay command_line:N

Whatever comes in: no crash, no hang, no exception of another kind than documented, no exit 0 with
lost output, a sentence of one line, and numbers that can be. What breaks this is shrunk by Hypothesis and printed with
the seed of its round, by which --replay draws the same input again.
"""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import random
import sys
import tempfile
import time
import traceback
from typing import Any, Callable

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings

import c_interface
import command_line
import python_package

# Named by modules, which each have `prepare(build, folder)`, `drawn`, a strategy, and `check`, which
# takes what was drawn and raises answer_rules.Wrong.
# The share of the time is by what an input costs: the command line starts a process for each.
SHARES = {"command_line": 0.5, "python_package": 0.25, "c_interface": 0.25}
MODULES = {module.__name__: module for module in (command_line, python_package, c_interface)}
INPUTS_OF_A_ROUND = 40
AGAIN = "build-venv/bin/python tests/bad_input/run.py --build build --replay"


def round_of(name: str, seed: int) -> Callable[[], None]:
    """One round: a number of inputs that follow from the seed alone."""
    limits = settings(
        max_examples=INPUTS_OF_A_ROUND, deadline=None, database=None, print_blob=False, report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck),
    )

    @hypothesis.seed(seed)
    @limits
    @given(MODULES[name].drawn)
    def one(drawn: Any) -> None:
        MODULES[name].check(drawn)

    return one


def failure_of(name: str, seed: int) -> str | None:
    """What went wrong with the smallest input of a round, or None."""
    try:
        round_of(name, seed)()
    except BaseException as error:  # Hypothesis raises groups where several things went wrong
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        lines = "".join(traceback.format_exception_only(error)).splitlines()
        return "\n".join(line if len(line) <= 1000 else line[:1000] + " ..." for line in lines)
    return None


def spend(name: str, seconds: float, seed: int) -> str | None:
    """Rounds until the time is over, or the first failure."""
    end = time.monotonic() + seconds
    rounds = 0
    while time.monotonic() < end:
        failure = failure_of(name, seed + rounds)
        if failure:
            return f"{failure}\nagain: {AGAIN} {name}:{seed + rounds}"
        rounds += 1
    print(f"{name}: {rounds} rounds of {INPUTS_OF_A_ROUND} inputs from seed {seed}", flush=True)
    return None


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--build", type=pathlib.Path, required=True, help="the build folder")
    words.add_argument("--seconds", type=float, default=45)
    words.add_argument("--seed", type=int, help="of the first round (default: a fresh one)")
    words.add_argument("--replay", metavar="NAME:SEED", help="one round, as a failure names it")
    given = words.parse_args()
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bad-input-")))
        name, _, seed = (given.replay or "").partition(":")
        for module in (name,) if name else MODULES:
            MODULES[module].prepare(given.build.resolve(), folder)
        if name:
            failures = [failure_of(name, int(seed))]
        else:
            first = random.SystemRandom().randrange(10**9) if given.seed is None else given.seed
            failures = [spend(name, given.seconds * share, first) for name, share in SHARES.items()]
    for failure in filter(None, failures):
        print(failure, file=sys.stderr)
    return 1 if any(failures) else 0


if __name__ == "__main__":
    sys.exit(main())
