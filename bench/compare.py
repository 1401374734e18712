#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""raceline beside the libraries that a user would pick instead: one process, the same tensors,
samples in turns of random order.

    bench/compare.py --suite training-16k --peers cudnn,fa2,fa4,flashinfer
    bench/compare.py --device cpu
    bench/compare.py --shape b=4,h=16,q=4096,k=4096,d=128,dtype=bf16,causal --kernel prefill_sm90

Every output passes the library's gate (float64, the bound of our kernel's rounding) before it is
timed; a peer that does not is named with its error and not compared. Device time and call time
stand apart. One `comparison` row a shape and peer is written through the library. docs/compare.md
says what is measured and how.
"""

import argparse
import gc
import os
import random
import site
import sys
import time
from pathlib import Path

# Two OpenMP runtimes live in this process; a team that spins after its region would take the cores
# from the other one. Both sleep instead.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

HERE = Path(__file__).resolve().parent
GPU_PEERS = "cudnn,fa2,fa3,fa4,flashinfer,torch,torch_compile"
GPU_SUITE = "training-16k"


def cpu_shapes():
    """What a CPU is compared on unless told: prefill at three lengths, decode over a long cache."""
    shapes = []
    for dtype in ("fp32", "bf16"):
        for d in (64, 128):
            for n in (512, 2048, 4096):
                for mask in ("", ",causal"):
                    shapes.append(f"b=1,h=8,q={n},k={n},d={d},dtype={dtype}{mask}")
        for heads in ("32/8", "32/32"):
            shapes.append(f"b=1,h={heads},q=1,k=32768,d=128,dtype={dtype}")
    return shapes


def selected(problems, quick):
    """With --quick, of every regime the shape in the middle of its lengths."""
    if not quick:
        return problems
    regimes = {}
    for problem in problems:
        regimes.setdefault(problem[0].regime(), []).append(problem)
    return [members[len(members) // 2] for members in regimes.values()]


def read_problems(comparison, texts):
    from operation_problem import OperationProblem
    from problem import Problem
    problems = []
    for text in texts:
        try:
            about = comparison.predicted(text)
            if "op" in about["workload"]:
                problem = OperationProblem(comparison.library, text, about["workload"])
            else:
                problem = Problem.of(text, about["workload"])
            problems.append((problem, about))
        except (ValueError, RuntimeError) as error:
            print(f"{text}: left out: {error}")
    return problems


def run(comparison, problems, arguments):
    from comparison import first_line
    from results import Results
    results = Results([peer.label for peer in comparison.peers])
    begun, left = time.monotonic(), []
    print(results.header(), flush=True)
    # Collected between shapes alone: a pause inside a sample would be measured, and what the peers'
    # compilers left behind takes long to walk.
    gc.disable()
    gc.freeze()
    for problem, about in problems:
        if arguments.seconds and time.monotonic() - begun > arguments.seconds:
            left.append(problem.text)
            continue
        try:
            rows = comparison.run_shape(problem, about)
        except Exception as error:  # noqa: BLE001 - the other shapes still have their answer
            comparison.failures.append(f"{problem.text}: {first_line(error)}")
            continue
        finally:
            gc.collect()
            comparison.machine.release()
        print(results.add(problem, rows), flush=True)
    for line in [*results.call_lines(), *results.mean_lines()]:
        print(line)
    if left:
        print(f"not run, for --seconds {arguments.seconds:g} had passed: {' '.join(left)}")
    print(f"{time.monotonic() - begun:.0f} s; receipts: {comparison.library.receipt_path}")
    return results


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="", help="libraceline.so (default: RACELINE_LIBRARY, "
                                                      "else build/libraceline.so)")
    parser.add_argument("--device", default="0", help="cpu, or the number of a GPU (default 0)")
    parser.add_argument("--suite", default="", help=f"default on a GPU: {GPU_SUITE}")
    parser.add_argument("--shape", action="append", default=[], help="a shape; may be repeated")
    parser.add_argument("--only", default="", help="shapes whose text contains this")
    parser.add_argument("--dtype", default="", help="for all shapes of the suite")
    parser.add_argument("--peers", default="", help=f"default: {GPU_PEERS}; on a CPU every form of "
                                                    "PyTorch, or a list of forms")
    parser.add_argument("--kernel", default="", help="ours by name (default: as a call would take)")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads of both (default: all)")
    parser.add_argument("--receipts", default="", help="file to append to (default: a new one)")
    parser.add_argument("--seconds", type=float, default=0,
                        help="start no further shape after this much time in all (default: no limit)")
    parser.add_argument("--shape-seconds", type=float, default=0,
                        help="sampling a shape at most (default: 0.5 on a GPU, 1 a form on a CPU)")
    parser.add_argument("--regime", default="sustained", choices=("sustained", "alone"),
                        help="GPU: kept at work (default), or at rest after each sample three times "
                             "as long as that took")
    parser.add_argument("--quick", action="store_true",
                        help="one shape of every head dim and mask, sampled a fifth as long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spread", type=float, default=1.0,
                        help="standard deviation of the logits (default 1, as of normal inputs)")
    parser.add_argument("--no-profiler", action="store_true",
                        help="do not ask PyTorch's profiler which kernels ran")
    parser.add_argument("--site", default="", help="folder of peers that bench/peer_wheels.py made")
    arguments = parser.parse_args(argv)
    if arguments.device != "cpu" and not arguments.device.isdigit():
        parser.error(f"--device is '{arguments.device}'; it must be cpu or the number of a GPU")
    if arguments.device == "cpu" and arguments.regime != "sustained":
        parser.error("--regime alone is one of GPUs; a CPU has none")
    if not 0 < arguments.spread <= 100:
        parser.error(f"--spread is {arguments.spread:g}; it must lie above 0 and at most at 100")
    return arguments


def shape_seconds(arguments):
    """Of sampling a shape at most."""
    seconds = arguments.shape_seconds or (4.0 if arguments.device == "cpu" else 0.5)
    return seconds / 5 if arguments.quick else seconds


def suite_of(arguments, library):
    """Texts of the shapes; names the suite in the rows."""
    on_cpu = arguments.device == "cpu"
    suite = arguments.suite or ("" if on_cpu or arguments.shape else GPU_SUITE)
    texts = arguments.shape + (library.suite(suite, arguments.dtype) if suite else [])
    texts = texts or cpu_shapes()
    arguments.suite_name = suite or ("shapes" if arguments.shape else "torch-cpu")
    return [text for text in texts if arguments.only in text]


def main(argv=None, gpu=None):
    """`gpu` stands in for a device in tests."""
    arguments = parse(argv)
    sys.path.insert(0, str(HERE))
    if arguments.site:
        site.addsitedir(arguments.site)  # its path files count too
    path = arguments.library or os.environ.get("RACELINE_LIBRARY", "")
    path = path or str(HERE.parent / "build" / "libraceline.so")

    import torch
    from c_library import Library
    from comparison import Comparison
    from failures import exit_status
    from machines import open_machine
    torch.set_grad_enabled(False)
    random.seed(arguments.seed)
    library = Library(path, arguments.receipts)
    try:
        try:
            machine = open_machine(arguments.device, shape_seconds(arguments), library,
                                   arguments.threads, not arguments.no_profiler, gpu,
                                   arguments.regime)
        except RuntimeError as error:
            print(f"compare: {error}", file=sys.stderr)
            return 2
        print(machine.describe())
        names = arguments.peers or ("torch_cpu" if arguments.device == "cpu" else GPU_PEERS)
        peers, missing = machine.peers([n.strip() for n in names.split(",") if n.strip()])
        for peer in peers:
            print(f"peer {peer.label}: {peer.backend}, {peer.version}")
        for name, reason in missing:
            print(f"peer {name}: left out: {reason}")
        if not peers:
            print("no peer is installed: there is nothing to compare with", file=sys.stderr)
            return 1
        comparison = Comparison(library, machine, peers, arguments)
        problems = selected(read_problems(comparison, suite_of(arguments, library)),
                            arguments.quick)
        results = run(comparison, problems, arguments)
    finally:
        library.close()
    return exit_status(comparison.failures, results.overall() is not None)


if __name__ == "__main__":
    sys.exit(main())
