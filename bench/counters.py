#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hardware counters of measured cases: what limits them, beside what the model said would.

    bench/counters.py --receipts ladder.jsonl
    bench/counters.py --receipts ladder.jsonl --kernel gqa --shape h=32/8,q=1,k=8192,d=128,dtype=fp16

Reads the measurement rows of a receipt file, runs `raceline check` of the same kernel, tile and
shape under ncu (the gate's calls and nothing else: every launch of every call counts, weighted by
its duration) and appends a `counters` row to the same file through the library. Which counters, and
how they name a limiter, is written in limiter.py. Without --shape and --suite: of every rung its
track's reference shape. Clocks are left alone; ncu empties the caches before each launch, so that
launches are cold as the measured calls were.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import limiter
from c_library import Library
from failures import exit_status
from profiler import Profiler, calls_of, find_ncu
from stored_text import stored_text

# The reference shape of each track, as docs/ladder.md has it.
REFERENCES = {
    "prefill": {"heads_q": 8, "seqlen_q": 2048, "seqlen_k": 2048, "headdim": 64, "mask": "full"},
    "decode": {"batch": 1, "heads_q": 32, "heads_kv": 8, "seqlen_k": 8192, "page_size": 0},
    "from-scratch": {"heads_q": 8, "seqlen_q": 512, "headdim": 64, "mask": "full"},
}
SUITES = {"prefill": "ladder", "decode": "ladder", "from-scratch": "from-scratch"}


def texts_of(library, measured, texts):
    """{workload as JSON: shape text} of these texts, where a kernel of the rows serves them."""
    device = measured[0]["device"]["id"] if measured else ""
    kernels = ["", *sorted({row["kernel"] for row in measured})]
    found = ((workload_of(library, text, device, kernels), text) for text in texts)
    return {key_of(workload): text for workload, text in found if workload}


def suites_of(library, measured):
    """Shape texts of the suites that the rows are of."""
    suites = sorted({row["suite"] for row in measured if row["suite"]})
    return [text for suite in suites for text in library.suite(suite)]


def workload_of(library, text, device, kernels):
    """The workload of a shape that one of these kernels serves, or None."""
    for kernel in kernels:
        try:
            return library.predict(text, device, kernel)["workload"]
        except RuntimeError:
            continue  # the next may serve it
    return None


def key_of(workload):
    return json.dumps(workload, sort_keys=True)


def tile_text(tile):
    return ",".join(f"{name}={value}" for name, value in tile.items()) or "best"


def rates_of(state):
    """{resource: byte/s} of a device row's state, the measured ones among them."""
    return {name: rate["value"] for name, rate in state.get("rates", {}).items()
            if rate["source"].startswith("probe")}


def rows_of(path):
    """(measurement rows that passed, prediction rows by id, measurement ids with counters, measured
    rates by rates_id)."""
    measured, predictions, counted, rates = [], {}, set(), {}
    for line in stored_text(path).splitlines():
        row = json.loads(line)
        if row["kind"] == "measurement" and row["measurement"]:
            measured.append(row)
        elif row["kind"] == "prediction":
            predictions[row["id"]] = row["prediction"]
        elif row["kind"] == "counters":
            counted.add(row["measurement_id"])
        elif row["kind"] == "device" and row.get("state"):
            rates[row["state"]["rates_id"]] = rates_of(row["state"])
    return measured, predictions, counted, rates


def references(measured, tracks):
    """Of every rung the row of its track's reference shape, or else the first that it ran."""
    chosen = {}
    for row in measured:
        track = tracks.get(row["kernel"])
        if track is None or row["suite"] != SUITES[track]:
            continue
        fits = all(row["workload"][member] == value
                   for member, value in REFERENCES[track].items())
        known = chosen.get(row["kernel"])
        if known is None or (fits and not known[0]):
            chosen[row["kernel"]] = (fits, row)
    return [row for _, row in chosen.values()]


def counters_of(launches, predicted, rates=None, cold=True):
    """What a counters row holds of a call's launches, which may be several equal calls. `rates`:
    what this device's probes reached, byte/s."""
    calls = calls_of(launches)
    peaks = limiter.busy_shares(launches)
    shares = {**peaks, **limiter.memory_shares(launches, rates or {}, cold)}
    resident, started = limiter.resident_share(launches), limiter.started_share(launches)
    busiest = limiter.name_limiter(shares, resident, started)
    engines = list(predicted["layer1"])
    one_call = launches[:len(launches) // calls]
    stalls = {reason: limiter.weighted(launches, metric)
              for reason, metric in limiter.STALLS.items()}
    return {
        "limiter": limiter.as_model_id(busiest, engines),
        "limiter_of_peaks": limiter.as_model_id(limiter.name_limiter(peaks, resident, started), engines),
        "busy": {limiter.as_model_id(name, engines): share for name, share in shares.items()},
        "of_peaks": {name: peaks[name] for name in shares if shares[name] != peaks.get(name)
                     and name in peaks},
        "threshold": limiter.BUSY, "resident": resident, "started": started, "calls": calls,
        "seconds": sum(x[limiter.DURATION] for x in launches) / calls,
        "totals": {name: sum_ / calls for name, sum_ in limiter.totals(launches).items()},
        "stalls": {reason: value for reason, value in stalls.items() if value is not None},
        "launches": [{"name": x["name"], "seconds": x[limiter.DURATION],
                      **{name: x.get(metric) for name, metric in limiter.LAUNCH.items()}}
                     for x in one_call],
    }


def profile_row(library, profiler, program, row, shape, predicted, rates):
    """Profiles one measured case and appends its counters row, which is returned."""
    command = [program, "check", "--device", "cuda", "--kernel", row["kernel"],
               "--tile", tile_text(row["tile"]), "--shape", shape]
    found = counters_of(profiler.launches(command), predicted, rates, row["case"]["cold"])
    found["profiler"] = f"ncu {profiler.version()}"
    found["missing"] = profiler.missing or []
    about = {name: row[name] for name in ("suite", "device", "kernel", "tile", "workload", "op", "pass", "case")
             if name in row}
    return library.append("counters", {**about, "measurement_id": row["id"], "counters": found})


def tracks_of(program):
    """{rung: track} as the program lists them."""
    said = subprocess.run([program, "kernels", "--json"], capture_output=True, text=True, check=True)
    kernels = [json.loads(line) for line in said.stdout.splitlines()]
    return {k["kernel"]: k["rung"]["track"] for k in kernels if k.get("rung")}


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--receipts", required=True, help="file with measurement rows to attach to")
    parser.add_argument("--program", default=str(HERE.parent / "build" / "raceline"))
    parser.add_argument("--library", default=str(HERE.parent / "build" / "libraceline.so"))
    parser.add_argument("--kernel", action="append", default=[], help="may be repeated")
    parser.add_argument("--shape", action="append", default=[],
                        help="in the file's rows; may be repeated (default: each rung's reference)")
    parser.add_argument("--suite", default="", help="all shapes of a suite, beside those of --shape")
    parser.add_argument("--ncu", default="", help="the profiler (default: found)")
    parser.add_argument("--seconds", type=float, default=0,
                        help="start no further case after this much time (default: no limit)")
    return parser.parse_args(argv)


def selected(arguments, measured, asked, tracks):
    """The rows to profile: references, or all of the shapes asked for, of the kernels asked for.
    `asked`: {workload as JSON: text} of these shapes."""
    if not arguments.shape and not arguments.suite:
        rows = references(measured, tracks)
    else:
        rows = [row for row in measured if key_of(row["workload"]) in asked]
    return [row for row in rows if not arguments.kernel or row["kernel"] in arguments.kernel]


def main(argv=None):
    arguments = parse_arguments(argv)
    ncu = arguments.ncu or find_ncu()
    if not ncu:
        print("counters: there is no ncu on this machine", file=sys.stderr)
        return 2
    try:
        measured, predictions, counted, rates = rows_of(arguments.receipts)
        library = Library(os.path.abspath(arguments.library), arguments.receipts)
    except (OSError, ValueError, RuntimeError) as error:
        print(f"counters: {error}", file=sys.stderr)
        return 2
    shapes = arguments.shape + (library.suite(arguments.suite) if arguments.suite else [])
    asked = texts_of(library, measured, shapes)
    rows = selected(arguments, measured, asked, tracks_of(arguments.program))
    rows = [row for row in rows if row["id"] not in counted]
    texts = asked or texts_of(library, measured, suites_of(library, measured))
    profiler, failed, begun = Profiler(ncu, limiter.metrics()), [], time.monotonic()
    try:
        for row in rows:
            shape = texts[key_of(row["workload"])]
            name = f"{row['kernel']} {shape}"
            if arguments.seconds and time.monotonic() - begun > arguments.seconds:
                failed.append(f"{name}: no time left")
                continue
            predicted = predictions[row["prediction_id"]]
            try:
                found = profile_row(library, profiler, arguments.program, row, shape, predicted,
                                    rates.get(predicted["rates_id"], {}))
            except Exception as error:  # noqa: BLE001 - the other cases still have their answer
                failed.append(f"{name}: {type(error).__name__}: {error}")
                continue
            busy = sorted(found["counters"]["busy"].items(), key=lambda item: -item[1])[:3]
            print(f"{name}: {found['counters']['limiter']} (predicted {predicted['limiter']}); "
                  + ", ".join(f"{what} {100 * share:.0f} %" for what, share in busy), flush=True)
    finally:
        library.close()
    return exit_status(failed, rows)


if __name__ == "__main__":
    sys.exit(main())
