# SPDX-License-Identifier: Apache-2.0
"""A device for tests: runs on the CPU what TorchGpu runs on a GPU, with the same surface, timed by the
library's clock of CPUs. A graph is a list of calls, run again at replay into the outputs that its
capture returned."""

import contextlib

import torch

from c_library import CPU


class StandInGpu:
    name = "stand-in"
    place = CPU
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

    def on_stream(self, address):
        self.log.append(f"on stream {address}")
        return contextlib.nullcontext()

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
