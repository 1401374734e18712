# SPDX-License-Identifier: Apache-2.0
"""The machine that contenders share."""


def open_machine(device, most_seconds, library, threads=0, profiled=True, gpu=None,
                 regime="sustained"):
    """`device`: cpu, or the number of a GPU; `most_seconds`: of sampling a shape; `profiled`: ask
    PyTorch's profiler which kernels ran; `gpu` stands in for a device in tests. Raises RuntimeError
    if there is no such device."""
    if device == "cpu" and gpu is None:
        from cpu_time import CpuMachine
        return CpuMachine(threads, library, most_seconds)
    from gpu_time import GpuMachine
    machine = GpuMachine(0 if device == "cpu" else int(device), library, most_seconds, regime, gpu)
    machine.gpu.profiled = profiled
    return machine
