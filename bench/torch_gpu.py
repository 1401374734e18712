# SPDX-License-Identifier: Apache-2.0
"""What contenders need of a CUDA device, over PyTorch: streams, graphs, names of kernels.
All that touches torch.cuda stands here, so that a test can put a stand-in in its place."""

import torch

from c_library import CUDA


class TorchGpu:
    """A device with one stream of ours, which becomes the current one: warm-up and capture see
    the same stream and the same allocator."""

    place = CUDA
    profiled = True

    def __init__(self, index):
        if not torch.cuda.is_available():
            raise RuntimeError("this PyTorch sees no CUDA device; --device cpu compares on the CPU")
        torch.cuda.set_device(index)
        self.device = torch.device("cuda", index)
        self.stream = torch.cuda.Stream()
        torch.cuda.set_stream(self.stream)
        properties = torch.cuda.get_device_properties(index)
        self.name = properties.name
        self.cache_bytes = int(getattr(properties, "L2_cache_size", 0)) or 50 << 20

    def free_bytes(self):
        return torch.cuda.mem_get_info()[0]

    def release(self):
        """Gives cached memory of dropped tensors back."""
        torch.cuda.empty_cache()

    def synchronize(self):
        torch.cuda.synchronize()

    def on_stream(self, address):
        """A context in which PyTorch works on a stream of somebody else's."""
        return torch.cuda.stream(torch.cuda.ExternalStream(address, self.device))

    def capture(self, enqueue):
        """A graph of what `enqueue` puts on the stream; what it returned is kept beside it."""
        graph = torch.cuda.CUDAGraph()
        self.synchronize()
        graph.capture_begin(capture_error_mode="relaxed")
        try:
            kept = enqueue()
        except BaseException:
            try:  # the stream must leave capture, or every later call fails for the wrong reason
                graph.capture_end()
            except RuntimeError:
                pass
            raise
        graph.capture_end()
        return graph, kept

    def kernels_of(self, call):
        """(what `call` returns, names of what ran on the device). Untimed. Without names where the
        profiler does not work: the answer is needed all the same."""
        result = []
        try:
            if not self.profiled:
                raise RuntimeError("not asked")
            from torch.profiler import ProfilerActivity, profile
            with profile(activities=[ProfilerActivity.CUDA]) as seen:
                result.append(call())
                self.synchronize()
            on_device = torch.autograd.DeviceType.CUDA
            names = [e.name for e in seen.events() if e.device_type == on_device]
        except Exception:  # noqa: BLE001 - of the call itself: raised again below
            if not result:
                result.append(call())
                self.synchronize()
            names = []
        return result[0], list(dict.fromkeys(names))
