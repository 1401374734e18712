# SPDX-License-Identifier: Apache-2.0
"""Runs the browser tests: two modules at a time, each with a browser of its own, and at last alone the one that judges
how fast a page opens. Exits 1 if a test failed or a module held none."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from browser import report

TESTS = pathlib.Path(__file__).parent
ALONE = "test_many_rows"


def run(module):
    """Whether a module passed; what it said is printed in one piece."""
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-B", "-m", "unittest", "-v", module], cwd=TESTS, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    ran = re.search(r"^Ran (\d+) tests? in ", done.stdout, re.MULTILINE)
    passed = done.returncode == 0 and ran is not None and int(ran[1]) > 0
    print(f"{done.stdout}\n== {module}: {'passed' if passed else 'FAILED'} in {time.monotonic() - began:.0f} s\n", flush=True)
    return passed


def main():
    # The longest first: what is last runs beside nothing. Those that nobody has timed come before.
    timed = ["test_page_receipts", "test_page_charts", "test_page", "test_page_scorecard", "test_page_whatif", "test_page_tables",
             "test_page_plots", "test_page_comparisons", "test_page_choices"]
    found = {path.stem for path in TESTS.glob("test_page*.py")}
    modules = sorted(found - set(timed)) + [module for module in timed if module in found]
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "committed.html"
        done = report(page)
        if done.returncode != 0:
            sys.exit(done.stderr)
        os.environ["COMMITTED_PAGE"] = str(page)
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            passed = list(pool.map(run, modules))
        passed.append(run(ALONE))
    sys.exit(not all(passed))


if __name__ == "__main__":
    main()
