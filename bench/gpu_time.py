# SPDX-License-Identifier: Apache-2.0
"""Times contenders on a GPU as src/run does: a graph of n calls, each on its own set of inputs and
outputs, divided by n; 200 µs or more a graph; the L2 turned over before each sample. All contenders
get the same n, the same sets and the same method, and take turns in random order."""

import math
import random
import statistics
import time

import torch

from c_library import Series
from tensors import Inputs
from torch_gpu import TorchGpu, host_seconds

GRAPH_SECONDS = 200e-6  # a sample lasts at least this long
RAMP_SECONDS = 80e-3    # work before the first sample: clocks settle
HOST_SECONDS = 0.05     # for one contender's call time
POLL_SECONDS = 2e-3     # the driver answers no faster than this
SPIN_SECONDS = 150e-6   # covers the launches of a round while the host enqueues them
MOST_SETS = 256
MOST_BYTES = 24 << 30


class Replay:
    """One contender ready to be sampled: n calls as a graph, or, where it cannot be captured, n
    calls behind a spin that hides their launches."""

    def __init__(self, gpu, call, context, count):
        self.gpu, self.call, self.context, self.count = gpu, call, context, count
        self.begin, self.end = gpu.event(), gpu.event()
        self.spin = 0.0
        try:
            with context():
                self.graph, self.outs = gpu.capture(lambda: [call(i) for i in range(count)])
            self.path = "graph"
        except Exception as error:  # noqa: BLE001 - each library has its own reasons
            self.graph, self.outs, self.path = None, [], "events"
            self.why = f"{type(error).__name__}: {error}".splitlines()[0]
            gpu.synchronize()
            start = time.perf_counter()
            self.run()
            self.spin = 2 * (time.perf_counter() - start)
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
        for out in self.outs:
            out.fill_(float("nan"))
        self.run()
        self.gpu.synchronize()
        for i, out in enumerate(self.outs):
            if not bool(torch.isfinite(out).all()):
                raise RuntimeError(f"its graph leaves output {i} unwritten")
        difference = (self.outs[0].float() - answer.float()).norm()
        if not float(difference) <= 1e-3 * float(answer.float().norm()):
            raise RuntimeError("its graph gives another answer than its call")

    def sample(self):
        """Enqueues one sample; read it with `seconds` once the stream has come by."""
        if self.spin:
            self.gpu.spin(self.spin)
        self.gpu.chill()
        self.begin.record()
        self.run()
        self.end.record()

    def seconds(self):
        """Device time of one call."""
        return self.begin.elapsed_time(self.end) * 1e-3 / self.count


class GpuMachine:
    """A CUDA device. `read_clock` tells clock, power and throttling."""

    launch_path = "graph"
    threads = 0
    device_id = ""  # the live one
    graph_seconds = GRAPH_SECONDS
    ramp_seconds = RAMP_SECONDS

    def __init__(self, index, rule, read_clock, gpu=None):
        self.gpu = gpu or TorchGpu(index)
        self.device = self.gpu.device
        self.rule = rule
        self.read_clock = read_clock

    def describe(self):
        return f"{self.gpu.name}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}"

    def peers(self, names):
        from peers_cuda import PEERS, open_peers
        unknown = [(name, "no such peer on a GPU") for name in names if name not in PEERS]
        found, missing = open_peers([name for name in names if name in PEERS])
        return found, unknown + missing

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
        return [Inputs(problem, generator, self.device, spread)
                for _ in range(int(max(1, min(count, room, MOST_SETS))))]

    def release(self):
        """Gives the memory of a shape's dropped tensors back."""
        self.gpu.release()

    def first_answer(self, call):
        """A copy of the first output and the kernels that made it. Memory that the allocator hands
        out again is poisoned first: yesterday's right answer in it must not pass for today's."""
        shape_like = call(0)  # compiles, loads modules
        self.gpu.synchronize()
        torch.full_like(shape_like, float("nan"))
        shape_like.fill_(float("nan"))
        del shape_like
        out, names = self.gpu.kernels_of(lambda: call(0))
        return out.clone(), names

    def calls_per_sample(self, replay_seconds, problem, sets):
        """Enough to last and enough to be cold, the same for all: the fastest one decides."""
        last = math.ceil(self.graph_seconds / max(min(replay_seconds), 1e-7))
        cold = 2 * self.gpu.cache_bytes // problem.set_bytes() + 1
        return max(1, min(max(last, cold), len(sets)))

    def one_call(self, call, context):
        """Device time of one warm call, roughly."""
        begin, end = self.gpu.event(), self.gpu.event()
        with context():
            self.gpu.spin(SPIN_SECONDS)
            begin.record()
            call(0)
            end.record()
        self.gpu.synchronize()
        return begin.elapsed_time(end) * 1e-3

    def measure(self, calls, problem, sets, summarize, answers):
        """({name: Series}, {name: why it could not be timed})."""
        failed, replays, series = {}, {}, {}
        once = [self.one_call(call, context) for call, context in calls.values()]
        count = self.calls_per_sample(once, problem, sets)
        for name, (call, context) in calls.items():
            try:
                replay = Replay(self.gpu, call, context, count)
                replay.prove(answers[name])
                with context():
                    host = host_seconds(self.gpu, call, len(sets), HOST_SECONDS)
            except Exception as error:  # noqa: BLE001 - one contender must not end the others
                failed[name] = f"{type(error).__name__}: {error}".splitlines()[0]
                continue
            replays[name] = replay
            series[name] = Series(seconds_call=host, launch_path=replay.path)
        if replays:
            self.sample(replays, series, summarize)
        return series, failed

    def sample(self, replays, series, summarize):
        names = list(replays)
        self.ramp(replays)
        clocks, rounds, begun = Clocks(self.read_clock), 0, time.perf_counter()

        def settled():
            return all(self.rule.settled(s.seconds, summarize) for s in series.values())

        while not self.rule.done(rounds, time.perf_counter() - begun, settled):
            random.shuffle(names)
            self.gpu.spin(SPIN_SECONDS)
            for name in names:
                replays[name].sample()
            clocks.poll()  # while the device works: an idle one would report another clock
            self.gpu.synchronize()
            for name in names:
                series[name].seconds.append(replays[name].seconds())
            rounds += 1
        for s in series.values():
            s.settled = self.rule.settled(s.seconds, summarize)
            clocks.write(s)

    def ramp(self, replays):
        begun = time.perf_counter()
        while True:
            for replay in replays.values():
                replay.run()
            self.gpu.synchronize()
            if time.perf_counter() - begun >= self.ramp_seconds:
                return


class Clocks:
    """Clock and power over one measurement. They change slower than contenders take turns, so that
    all of them share what was seen."""

    def __init__(self, read):
        self.read, self.polled = read, 0.0
        self.hz, self.watts, self.throttled = [], [], False

    def poll(self):
        if time.perf_counter() - self.polled < POLL_SECONDS:
            return
        state = self.read()
        self.polled = time.perf_counter()
        self.hz.append(state.sm_clock_hz)
        self.watts.append(state.power_w)
        self.throttled = self.throttled or bool(state.throttled)

    def write(self, series):
        series.sm_clock_hz = statistics.median(self.hz) if self.hz else 0.0
        series.power_w = statistics.median(self.watts) if self.watts else 0.0
        series.throttled = self.throttled
