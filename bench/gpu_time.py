# SPDX-License-Identifier: Apache-2.0
"""Contenders on a GPU, as the library's clock takes them: a graph of n calls, each on its own set of
inputs and outputs. All get the same n and the same sets. PyTorch captures them, for only PyTorch can
allocate their outputs; rl_time_contenders times them."""

import itertools
import math

import torch

from c_library import Contender
from torch_gpu import TorchGpu

GRAPH_SECONDS = 200e-6  # a sample lasts at least this long
RAMP_SECONDS = 80e-3    # work before the first sample: clocks settle
MOST_SETS = 256
MOST_BYTES = 24 << 30


def outputs_of(result):
    """Of attention one tensor, of an operation a tuple of them: none of one that works in place."""
    return result if isinstance(result, tuple) else (result,)


class Replay:
    """n calls of one contender as a graph, or, where it cannot be captured, one by one."""

    def __init__(self, gpu, call, context, count):
        self.gpu, self.call, self.context, self.count = gpu, call, context, count
        try:
            with context():
                self.graph, self.outs = gpu.capture(lambda: [call(i) for i in range(count)])
            self.path = "graph"
        except Exception as error:  # noqa: BLE001 - each library has its own reasons
            self.graph, self.outs, self.path = None, [], "events"
            self.why = f"{type(error).__name__}: {error}".splitlines()[0]
            gpu.synchronize()

    def run(self):
        if self.graph is not None:
            self.graph.replay()
            return
        with self.context():
            self.outs = [self.call(i) for i in range(self.count)]

    def prove(self, answer):
        """That a replay writes every output, the first one as the judged call did. A graph that
        misses work (launched on another stream, say) would be fast and wrong."""
        if self.graph is None:
            return
        for result in self.outs:
            for out in outputs_of(result):
                out.fill_(float("nan"))
        self.run()
        self.gpu.synchronize()
        for i, result in enumerate(self.outs):
            for out in outputs_of(result):
                if not bool(torch.isfinite(out).all()):
                    raise RuntimeError(f"its graph leaves output {i} unwritten")
        for out, right in zip(outputs_of(self.outs[0]), outputs_of(answer)):
            right = right.float().flatten()
            difference = (out.float().flatten() - right).norm()
            if not float(difference) <= 1e-3 * float(right.norm()):
                raise RuntimeError("its graph gives another answer than its call")

    def contender(self, name):
        turn = itertools.count()

        def enqueue(stream):
            with self.gpu.on_stream(stream):
                self.run()

        def call(stream):
            with self.gpu.on_stream(stream), self.context():
                self.call(next(turn) % self.count)
        return Contender(name, enqueue, self.count, call)


class GpuMachine:
    """A CUDA device. `most_seconds`: of sampling, all contenders together; `regime`: sustained, or
    alone (rl_timing_options)."""

    launch_path = "graph"
    threads = 0
    device_id = ""  # the live one
    graph_seconds = GRAPH_SECONDS
    ramp_seconds = RAMP_SECONDS

    def __init__(self, index, library, most_seconds, regime="sustained", gpu=None):
        self.gpu = gpu or TorchGpu(index)
        self.device = self.gpu.device
        self.library, self.most_seconds, self.regime = library, most_seconds, regime

    def describe(self):
        return f"{self.gpu.name}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}"

    def peers(self, names):
        from peers_cuda import PEERS, open_peers
        from peers_operations import torch_operations
        operations = [one for one in torch_operations(on_gpu=True) if one.name in names]
        others = [name for name in names if name not in {one.name for one in operations}]
        unknown = [(name, "no such peer on a GPU") for name in others if name not in PEERS]
        found, missing = open_peers([name for name in others if name in PEERS])
        return found + operations, unknown + missing

    def make_sets(self, problem, seed, spread=1.0):
        """As many as a sample may need: that a fast call lasts graph_seconds is known only later,
        so that the bandwidth and matrix rate of no GPU yet bound it from below."""
        generator = torch.Generator(device=self.device).manual_seed(seed)
        each = problem.set_bytes()
        fastest = max(problem.set_bytes() / 6e12, problem.flops() / 1.2e15, 2e-6)
        cold = 2 * self.gpu.cache_bytes // each + 1
        count = max(cold, math.ceil(self.graph_seconds / fastest))
        # Every contender may hold outputs of its own beside the inputs: half of what is free.
        room = min(MOST_BYTES, self.gpu.free_bytes() // 2) // each
        return [problem.inputs(generator, self.device, spread)
                for _ in range(int(max(1, min(count, room, MOST_SETS))))]

    def release(self):
        """Gives the memory of a shape's dropped tensors back."""
        self.gpu.release()

    def first_answer(self, call):
        """A copy of the first output and the kernels that made it. Memory that the allocator hands
        out again is poisoned first: yesterday's right answer in it must not pass for today's."""
        shapes_like = outputs_of(call(0))  # compiles, loads modules
        self.gpu.synchronize()
        for shape_like in shapes_like:
            torch.full_like(shape_like, float("nan"))
            shape_like.fill_(float("nan"))
        del shapes_like
        result, names = self.gpu.kernels_of(lambda: call(0))
        if isinstance(result, tuple):
            return tuple(out.clone() for out in result), names
        return result.clone(), names

    def calls_per_sample(self, call_seconds, problem, sets):
        """Enough to last and enough to be cold, the same for all: the fastest one decides."""
        last = math.ceil(self.graph_seconds / max(min(call_seconds), 1e-7))
        cold = 2 * self.gpu.cache_bytes // problem.set_bytes() + 1
        return max(1, min(max(last, cold), len(sets)))

    def one_call(self, calls):
        """Device time of one call of each, roughly: what decides how many make a sample."""
        def enqueue_of(call, context):
            def enqueue(stream):
                with self.gpu.on_stream(stream), context():
                    call(0)
            return enqueue
        few = self.time([Contender(name, enqueue_of(*call)) for name, call in calls.items()],
                        min_samples=3, max_samples=3, ramp_seconds=1e-9)
        return [timing.seconds_median for timing in few.values()]

    def time(self, contenders, **options):
        """Each sample apart from the others: the cache read over with foreign data before it, and
        the host ahead of the device."""
        settings = {"max_samples": 400, "max_seconds": self.most_seconds / len(contenders),
                    "ramp_seconds": self.ramp_seconds, "separate": 1, **options}
        return self.library.time_contenders(contenders, self.gpu.place, **settings)

    def measure(self, calls, problem, sets, answers):
        """({name: Timing}, {name: why it could not be timed}) of `calls` {name: (call of a set's
        index, context)}."""
        failed, replays = {}, {}
        count = self.calls_per_sample(self.one_call(calls), problem, sets)
        for name, (call, context) in calls.items():
            try:
                replay = Replay(self.gpu, call, context, count)
                replay.prove(answers[name])
            except Exception as error:  # noqa: BLE001 - one contender must not end the others
                failed[name] = f"{type(error).__name__}: {error}".splitlines()[0]
                continue
            replays[name] = replay
        if not replays:
            return {}, failed
        timings = self.time([replay.contender(name) for name, replay in replays.items()],
                            regime=self.regime)
        for name, timing in timings.items():
            timing.launch_path = replays[name].path
        return timings, failed
