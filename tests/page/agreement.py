# SPDX-License-Identifier: Apache-2.0
"""The native build and the WebAssembly build of the model must give the same answers.

    agreement.py --questions PROGRAM --model raceline_model.js [--count 1000] [--seed 1]

Same kernels in the same order, same tile, limiter and refusals; every time within 1e-9 of the other. Every kernel,
device and suite must be among what was asked and answered.
"""
import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOLERANCE = 1e-9


def differences(native, other, where=""):
    """Sentences on where two answers differ: numbers by more than TOLERANCE, all else at all."""
    if isinstance(native, dict) and isinstance(other, dict) and list(native) == list(other):
        return [one for name in native for one in differences(native[name], other[name], f"{where}.{name}")]
    if isinstance(native, list) and isinstance(other, list) and len(native) == len(other):
        return [one for i, (a, b) in enumerate(zip(native, other)) for one in differences(a, b, f"{where}[{i}]")]
    if isinstance(native, (int, float)) and isinstance(other, (int, float)) and not isinstance(native, bool):
        if abs(native - other) <= TOLERANCE * max(abs(native), abs(other)):
            return []
    elif native == other:
        return []
    return [f"{where}: {native!r} natively, {other!r} in WebAssembly"]


def compare(pairs):
    """Faults of [(question, native answer, other answer)], and what the questions covered."""
    faults, seen = [], {"kernels": set(), "devices": set(), "suites": set(), "predictions": 0}
    for number, (question, native, other) in enumerate(pairs):
        device = json.loads(question)["device"]["id"]
        seen["devices"].add(device)
        seen["suites"].add(json.loads(question)["suite"])
        for kernel in json.loads(native).get("kernels", []):
            if "seconds" in kernel:
                seen["kernels"].add(kernel["kernel"])
                seen["predictions"] += 1
        found = differences(json.loads(native), json.loads(other))
        faults += [f"question {number} ({device}): {one}" for one in found]
    return faults, seen


def missing(seen, kernels, devices, suites):
    """Faults: what no question was about, or which no answer has a time of."""
    return [*(f"no question was answered with a time of {name}" for name in sorted(set(kernels) - seen["kernels"])),
            *(f"no question was about {name}" for name in sorted(set(devices) - seen["devices"])),
            *(f"no question had a shape of suite {name}" for name in sorted(set(suites) - seen["suites"]))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--kernels", required=True, help="the generated list, kernels.inc")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    asked = subprocess.run([args.questions, str(args.seed), str(args.count)], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    questions, native = zip(*(line.split("\t") for line in asked))
    answered = subprocess.run(["node", HERE / "answers.js", args.model], check=True, capture_output=True,
                              text=True, input="\n".join(questions)).stdout.splitlines()
    if not len(questions) == len(answered) == args.count:
        sys.exit(f"{len(questions)} questions and {len(answered)} answers where {args.count} were asked for")
    faults, seen = compare(zip(questions, native, answered))
    listed = [line[2:line.index(",")] for line in open(args.kernels) if line.startswith("X(")]
    devices = [path.stem for path in (HERE.parent.parent / "devices").glob("*.json")]
    suites = subprocess.run([args.questions, "suites"], check=True, capture_output=True, text=True).stdout.split()
    if not listed or not devices or not suites:
        sys.exit(f"{len(listed)} kernels, {len(devices)} devices and {len(suites)} suites are listed: nothing would be missed")
    faults += missing(seen, listed, devices, suites)
    print(f"{args.count} questions on {len(seen['devices'])} devices with shapes of {len(seen['suites'])} suites, "
          f"{seen['predictions']} predictions of "
          f"{len(seen['kernels'])} kernels, {len(faults)} differences")
    for fault in faults[:20]:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
