#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Relative RMS errors of raceline and of other libraries on random calls; nothing is timed.

    bench/errors.py --cases 300 --kernel prefill_sm90 --receipts errors.jsonl
    bench/errors.py --device cpu --cases 20 --peers sdpa

Calls are drawn from a seed: 1 to 4,200 queries and keys (as many keys as queries under a causal
mask, which PyTorch aligns top-left), head dims 32 to 256, grouped heads, bf16 and fp16. Logits are
those of standard normals, or, every other call, have outliers as the gate's inputs do: a channel of
K is ×8 in all keys, and it and the next one of Q in every other row, whose few heaviest keys then
carry the answer. Both outputs are judged by the library's gate (float64, the bound of our kernel's
rounding). One `check` row a call and peer is written through the library.
"""

import argparse
import os
import random
import sys
import time
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # see compare.py

LONGEST = 4200
OUTLIER = 8  # a power of two: exact in every type
KINDS = ("plain", "outliers")


def draw(seed, index, most=LONGEST):
    """(text of call `index` of a seed, its kind of logits)."""
    source = random.Random(f"{seed}/{index}")
    heads_kv = source.randint(1, 4)
    heads = heads_kv * source.choice((1, 1, 2, 4, 8))
    headdim = source.choice((64, 128, 256, 8 * source.randint(4, 32)))
    queries, keys = source.randint(1, most), source.randint(1, most)
    causal = source.random() < 0.5
    text = (f"b={source.randint(1, 3)},h={heads}/{heads_kv},q={queries},"
            f"k={queries if causal else keys},d={headdim},dtype={source.choice(('bf16', 'fp16'))}")
    return text + (",causal" if causal else ""), KINDS[index % len(KINDS)]


def amplify(inputs, seed):
    """Outliers, in place: see above."""
    import torch
    channel = seed % inputs.q.shape[3]
    inputs.k[..., channel] *= OUTLIER
    tokens = torch.arange(inputs.q.shape[1], device=inputs.q.device)[:, None]
    heads = torch.arange(inputs.q.shape[2], device=inputs.q.device)[None, :]
    factor = torch.where((tokens + heads + seed) % 2 == 1, OUTLIER, 1).to(inputs.q.dtype)
    for c in {channel, (channel + 1) % inputs.q.shape[3]}:
        inputs.q[..., c] *= factor


class Errors:
    """Runs calls and keeps (kind, text, our error, {label: error}) of each."""

    def __init__(self, library, machine, peers, kernel):
        self.library, self.machine, self.peers, self.kernel = library, machine, peers, kernel
        self.found, self.failures, self.refused = [], [], []

    def run(self, text, kind, seed):
        import torch
        from problem import Problem
        from tensors import Inputs, Judge, Raceline
        about = self.library.predict(text, self.machine.device_id, self.kernel,
                                     self.machine.launch_path)
        about.pop("prediction")
        about.update(suite="errors", seed=seed, logits=kind)
        problem = Problem.of(text, about["workload"])
        generator = torch.Generator(device=self.machine.device).manual_seed(seed)
        sets = [Inputs(problem, generator, self.machine.device)]
        if kind == "outliers":
            amplify(sets[0], seed)
        judge = Judge(self.library, problem, sets[0], about["kernel"], seed)
        ours, _ = self.machine.first_answer(Raceline(self.library, problem, sets, about["kernel"]))
        about["correctness"] = judge.verdict(ours)
        if not about["correctness"]["passed"]:
            self.library.append("check", about)
            self.failures.append(f"{text} ({kind}): {about['correctness']['why']}")
            return
        theirs = {}
        for peer in self.peers:
            entry = self.judged(peer, problem, sets, judge, f"{text} ({kind})")
            if entry:
                self.library.append("check", {**about, "peer": entry})
                theirs[peer.label] = entry["correctness"]["relative_rms"]
        if not theirs:
            self.library.append("check", about)
        self.found.append((kind, text, about["correctness"]["relative_rms"], theirs))

    def judged(self, peer, problem, sets, judge, name):
        """What a row holds of a peer, or nothing where it has no right answer."""
        from comparison import ask, described, first_line
        reason = peer.refusal(problem)
        if not reason:
            try:
                verdict = ask(self.machine, peer, problem, sets, judge)[3]
                if verdict["passed"]:
                    return {**described(peer), "correctness": verdict}
                reason = verdict["why"]
            except Exception as error:  # noqa: BLE001 - one peer must not end the others' run
                reason = first_line(error)
        self.refused.append(f"{peer.label}, {name}: {reason}")
        return None

    def lines(self):
        """Geometric mean and largest of our error over each peer's, of all calls and by logits."""
        from ratios import Ratio, geometric_mean
        for label in [peer.label for peer in self.peers]:
            for kind in ("all", *KINDS):
                ratios = [(ours / theirs[label], f"{text} ({of})")
                          for of, text, ours, theirs in self.found
                          if kind in ("all", of) and theirs.get(label, 0) > 0 < ours]
                if ratios:
                    mean = geometric_mean([Ratio(r, r, r) for r, _ in ratios]).value
                    most, where = max(ratios)
                    yield (f"raceline's error / {label}'s, {kind}: geometric mean {mean:.3f}, most "
                           f"{most:.3f} at {where}, {len(ratios)} calls")


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default=str(HERE.parent / "build" / "libraceline.so"))
    parser.add_argument("--receipts", default="", help="file to append to (default: a new one)")
    parser.add_argument("--device", default="0", help="cpu, or the number of a GPU (default 0)")
    parser.add_argument("--peers", default="fa2")
    parser.add_argument("--kernel", default="", help="ours by name (default: as a call would take)")
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="number of the first call of the seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=int, default=LONGEST, help="queries and keys at most")
    parser.add_argument("--seconds", type=float, default=0,
                        help="start no further call after this much time (default: no limit)")
    arguments = parser.parse_args(argv)
    if arguments.device != "cpu" and not arguments.device.isdigit():
        parser.error(f"--device is '{arguments.device}'; it must be cpu or the number of a GPU")
    for name in ("cases", "longest"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name} is {getattr(arguments, name)}; it must be 1 or more")
    return arguments


def run(errors, arguments):
    begun = time.monotonic()
    for index in range(arguments.first, arguments.first + arguments.cases):
        if arguments.seconds and time.monotonic() - begun > arguments.seconds:
            print(f"calls from {index} on not run: {arguments.seconds:g} s had passed")
            break
        text, kind = draw(arguments.seed, index, arguments.longest)
        try:
            errors.run(text, kind, zlib.crc32(f"{arguments.seed}/{text}".encode()))
        except Exception as error:  # noqa: BLE001 - the other calls still have their answer
            errors.failures.append(f"{text} ({kind}): {type(error).__name__}: {error}")
        finally:
            errors.machine.release()
    for line in errors.refused:
        print(f"not compared: {line}")
    for line in errors.lines():
        print(line)
    print(f"{len(errors.found)} calls right, {len(errors.failures)} failed, "
          f"{time.monotonic() - begun:.0f} s; receipts: {errors.library.receipt_path}")


def main(argv=None, gpu=None):
    """`gpu` stands in for a device in tests."""
    arguments = parse(argv)
    import torch
    from c_library import Library
    from failures import exit_status
    from machines import open_machine
    torch.set_grad_enabled(False)
    library = Library(os.path.abspath(arguments.library), arguments.receipts)
    try:
        try:
            machine = open_machine(arguments.device, 0, library, profiled=False, gpu=gpu)
        except RuntimeError as error:
            print(f"errors: {error}", file=sys.stderr)
            return 2
        print(machine.describe())
        peers, missing = machine.peers([n.strip() for n in arguments.peers.split(",") if n.strip()])
        for name, reason in missing:
            print(f"peer {name}: left out: {reason}")
        errors = Errors(library, machine, peers, arguments.kernel)
        run(errors, arguments)
    finally:
        library.close()
    return exit_status(errors.failures, errors.found)


if __name__ == "__main__":
    sys.exit(main())
