# SPDX-License-Identifier: Apache-2.0
"""Nsight Compute (ncu) over a process: launches of ours with the counters that were asked for."""

import csv
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

# The __global__ functions of the rungs and engines, and the products of cuBLASLt, whose names say
# what they are; the runner's own fills are left out.
OURS = ("regex:^(adam|combine|crossentropy|forward|gather|gather_joined|held_rows|kept_rows|merge|outputs|partial|"
        "raw_rows|read_flat|read_rows|scores|softmax|staged_rows|step_rows|totals|"
        "transpose_values|"
        ".*gemm.*|nvjet.*|.*splitK.*)$")
PLACES = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu", "/opt/nvidia/*/*/ncu")


def find_ncu():
    """Path of the profiler, or '' where there is none."""
    found = shutil.which("ncu")
    for place in PLACES:
        if not found:
            paths = sorted(Path("/").glob(place[1:]))
            found = str(paths[-1]) if paths else ""
    return found


# Seconds of a unit of time as ncu writes it.
SECONDS = {"ns": 1e-9, "nsecond": 1e-9, "us": 1e-6, "usecond": 1e-6, "ms": 1e-3, "msecond": 1e-3}


def number(text):
    """A value as ncu prints it, with or without commas; None for what it could not read."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def parse(text):
    """Launches in order: {"name": function, metric: value, ...}. Durations are seconds. `text` is
    ncu's CSV, one line a launch and metric, under --print-units base; lines before its header and
    ncu's own remarks are passed over."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    launches = {}
    for row in csv.DictReader(lines):
        value = number(row["Metric Value"])
        if value is not None:
            value *= SECONDS.get(row["Metric Unit"], 1)
        launch = launches.setdefault(row["ID"], {"name": row["Kernel Name"]})
        launch[row["Metric Name"]] = value
    return list(launches.values())


def unknown_metrics(text):
    """Names that ncu says it does not know."""
    return re.findall(r"[Ff]ailed to find metric:?\s+([\w.]+)", text)


def calls_of(launches):
    """How many equal calls a list of launches is: the shortest run of names that repeats."""
    names = [launch["name"] for launch in launches]
    for period in range(1, len(names) + 1):
        if names == names[:period] * (len(names) // period):
            return len(names) // period
    return 0


class Profiler:
    """ncu with a list of counters, less those that it turned out not to know."""

    def __init__(self, ncu, metrics, seconds=60):
        self.ncu, self.metrics, self.seconds = ncu, list(metrics), seconds
        self.missing = None  # not looked for
        self.said = ""
        self.stopped = False  # the last command took too long

    def drop_unknown(self):
        """Leaves out what this profiler does not know of this device: named in what it said, or
        absent from its list, which holds names without their roll-ups."""
        listed = subprocess.run([self.ncu, "--query-metrics"], capture_output=True, text=True,
                                check=False, timeout=self.seconds)
        known = {line.split()[0] for line in listed.stdout.splitlines() if line.strip()}
        named = set(unknown_metrics(self.said))
        # Launches' own figures and ratios are in other lists.
        absent = {name for name in self.metrics if name.split(".")[0] not in known
                  and not name.startswith(("launch__", "smsp__average_"))}
        if 2 * len(absent) > len(self.metrics):
            absent = set()  # it lists them in a way of its own: no reason to drop any
        self.missing = [name for name in self.metrics if name in named | absent]
        self.metrics = [name for name in self.metrics if name not in self.missing]

    def version(self):
        said = subprocess.run([self.ncu, "--version"], capture_output=True, text=True, check=False)
        found = re.search(r"Version\s+(\S+)", said.stdout)
        return found.group(1) if found else ""

    def launches(self, command):
        """Launches of ours in a command. Raises RuntimeError with what was said if there are none."""
        found = self.once(command)
        if not found and self.missing is None and not self.stopped:
            self.drop_unknown()
            found = self.once(command)
        if not found:
            tail = " | ".join(self.said.strip().splitlines()[-3:])
            raise RuntimeError(f"no launch was profiled: {tail}")
        return found

    def once(self, command):
        self.stopped = False
        with tempfile.TemporaryDirectory() as scratch:
            log = Path(scratch) / "ncu.csv"
            profiled = [self.ncu, "--clock-control", "none", "--csv", "--print-units", "base",
                        "--log-file", str(log), "--kernel-name", OURS,
                        "--metrics", ",".join(self.metrics), *command]
            try:
                done = subprocess.run(profiled, capture_output=True, text=True, check=False,
                                      timeout=self.seconds)
                streams = done.stdout + "\n" + done.stderr
            except subprocess.TimeoutExpired:
                streams = f"it took longer than {self.seconds} s\n"
                self.stopped = True
            text = log.read_text() if log.exists() else ""
        self.said = "\n".join([line for line in text.splitlines() if not line.startswith('"')]
                              + [streams])
        return parse(text) or parse(streams)  # where the log file holds its remarks alone
