# SPDX-License-Identifier: Apache-2.0
"""Contenders on a CPU, as the library's clock takes them: a sample is one call."""

import itertools
import os

import torch

from c_library import CPU, Contender


def last_level_cache():
    """Bytes; 32 MiB where the system does not say."""
    sizes = []
    base = "/sys/devices/system/cpu/cpu0/cache"
    for index in os.listdir(base) if os.path.isdir(base) else []:
        try:
            with open(f"{base}/{index}/size", encoding="ascii") as file:
                sizes.append(int(file.read().strip().rstrip("K")) * 1024)
        except (OSError, ValueError):
            continue
    return max(sizes, default=32 << 20)


class CpuMachine:
    """Cold calls: the sets of inputs, used in turn, together exceed twice the last-level cache."""

    device_id = "cpu"
    launch_path = ""  # that of a call
    most_sets = 64

    def __init__(self, threads, library, most_seconds):
        self.device = torch.device("cpu")
        self.threads = threads or os.cpu_count()
        self.library, self.most_seconds = library, most_seconds
        self.cache_bytes = last_level_cache()
        torch.set_num_threads(self.threads)

    def describe(self):
        return (f"PyTorch {torch.__version__} ({torch.backends.cpu.get_cpu_capability()}), "
                f"{self.threads} threads")

    def peers(self, names):
        from peers_cpu import torch_forms
        from peers_operations import torch_operations
        forms = torch_forms() + torch_operations(on_gpu=False)
        known = {form.backend for form in forms} | {"torch_cpu"}
        missing = [(name, "no peer on a CPU") for name in names if name not in known]
        return [f for f in forms if f.name in names or f.backend in names], missing

    def make_sets(self, problem, seed, spread=1.0):
        generator = torch.Generator().manual_seed(seed)
        each = problem.set_bytes()
        count = min(self.most_sets, 2 * self.cache_bytes // each + 1)
        if count < 3 and problem.cache_bytes() < 4 * self.cache_bytes:
            count = 3  # else a turn would find what the turn before it read
        return [problem.inputs(generator, self.device, spread) for _ in range(count)]

    def first_answer(self, call):
        """Runs a contender for the first time: its output, and no names of kernels."""
        return call(0), []

    def release(self):
        """Nothing is kept."""

    def measure(self, calls, problem, sets, answers):
        """({name: Timing}, {}) of `calls` {name: (call of a set's index, context)}."""
        turn = itertools.count()  # of all together: nobody finds what the one before him read

        def enqueue_of(call, context):
            def enqueue(stream):
                with context():
                    call(next(turn) % len(sets))
            return enqueue
        contenders = [Contender(name, enqueue_of(*call)) for name, call in calls.items()]
        timings = self.library.time_contenders(
            contenders, CPU, min_samples=9, max_samples=400,
            max_seconds=self.most_seconds / len(contenders))
        for timing in timings.values():
            timing.launch_path = "parallel"
        return timings, {}
