# SPDX-License-Identifier: Apache-2.0
"""A device for tests: runs on the CPU what TorchGpu runs on a GPU, with the same surface. Events
are times of the clock on the wall; a graph is a list of calls, run again at replay into the outputs
that its capture returned."""

import time
from types import SimpleNamespace

import torch


class Event:
    def record(self):
        self.at = time.perf_counter()

    def elapsed_time(self, end):
        return (end.at - self.at) * 1e3


class StandInGpu:
    name = "stand-in"
    cache_bytes = 1 << 20

    def __init__(self):
        self.device = torch.device("cpu")
        self.capturing = False
        self.log = []  # what was asked of the device, in order

    def free_bytes(self):
        return 1 << 30

    def release(self):
        self.log.append("release")

    def synchronize(self):
        self.log.append("synchronize")

    def event(self):
        return Event()

    def spin(self, seconds):
        self.log.append("spin")

    def chill(self):
        self.log.append("chill")

    def capture(self, enqueue):
        self.capturing = True
        try:
            kept = enqueue()
        finally:
            self.capturing = False
        gpu = self

        class Graph:
            def replay(self):
                gpu.log.append("replay")
                for to, out in zip(kept, enqueue()):
                    if to is not out and not getattr(to, "uncaptured", False):
                        to.copy_(out)
        return Graph(), kept

    def kernels_of(self, call):
        return call(), ["stand_in_kernel"]


def clock():
    return SimpleNamespace(sm_clock_hz=1.98e9, power_w=600.0, throttled=0)
