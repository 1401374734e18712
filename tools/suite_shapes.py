#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shapes of a suite, a line each, for a shell that runs something once for each of them.

    tools/suite_shapes.py LIBRARY SUITE

LIBRARY is libraceline.so. Exit status 1 with the library's sentence if it has no such suite."""

import ctypes
import json
import sys


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    library = ctypes.CDLL(sys.argv[1])
    library.rl_last_error.restype = ctypes.c_char_p
    shapes = ctypes.c_char_p()
    if library.rl_suite(sys.argv[2].encode(), b"", ctypes.byref(shapes)) != 0:
        sys.exit(f"suite_shapes: {library.rl_last_error().decode()}")
    print("\n".join(json.loads(shapes.value or b"[]")))


if __name__ == "__main__":
    main()
