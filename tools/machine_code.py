#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes down what each kernel's source is compiled to, in docs/machine_code.json.

    tools/machine_code.py PROGRAM

PROGRAM is `raceline`, built with CUDA. For every kernel with device code the file has a hash of its
source and beside it one of its machine code, for all architectures. Two sources with the same machine
code run alike on a GPU: pages then do not say of older receipts that the code has changed since. A line
is only added; a source that the file knows with other machine code is an error (another compiler).
"""

import argparse
import json
import pathlib
import subprocess
import sys

FILE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "machine_code.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the program `raceline`, built with CUDA")
    program = parser.parse_args().program
    run = subprocess.run([program, "kernels", "--json"], check=True, stdout=subprocess.PIPE, text=True)
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    found = 0
    for kernel in map(json.loads, run.stdout.splitlines()):
        if not kernel["machine_code"]:
            continue
        of_source = known.setdefault(kernel["kernel"], {})
        before = of_source.setdefault(kernel["source_hash"], kernel["machine_code"])
        if before != kernel["machine_code"]:
            sys.exit(f"machine_code: {kernel['kernel']}'s source is known with other machine code: another compiler?")
        found += 1
    if found == 0:
        sys.exit("machine_code: this program has no device code; build with CUDA")
    FILE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
