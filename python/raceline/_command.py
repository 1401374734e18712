# SPDX-License-Identifier: Apache-2.0
"""The command ``raceline`` of an installed package: the same program as ``make demo`` builds."""

import os
import sys
from pathlib import Path
from typing import NoReturn


def main() -> NoReturn:
    """Becomes the program, with all arguments; its exit code is the command's."""
    program = Path(__file__).parent / "bin" / "raceline"
    if not program.is_file():
        sys.exit("raceline: this package was built without the program; a wheel of `make release` has it")
    os.execv(program, ["raceline", *sys.argv[1:]])
