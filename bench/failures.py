# SPDX-License-Identifier: Apache-2.0
"""How a program of this folder ends where some of its work failed."""
import sys


def exit_status(failed, found=True):
    """Says on stderr what failed, a line each. 1 if anything did or nothing was found, else 0."""
    for line in failed:
        print(f"failed: {line}", file=sys.stderr)
    return 1 if failed or not found else 0
