# SPDX-License-Identifier: Apache-2.0
"""Operations beside attention as problems that a comparison can run: their tensors, raceline over
them, and the gate."""

import ctypes as c
import re

import torch

from c_library import CPU, CUDA, WORKSPACE_ALIGNMENT

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16,
          "e4m3": torch.float8_e4m3fn, "int32": torch.int32}
# Half of the distance between neighbouring numbers of a type, relative to them.
ROUNDOFF = {"fp32": 2**-24, "fp16": 2**-11, "bf16": 2**-9, "e4m3": 2**-4}


class Operation:
    """An rl_operation. It is freed with the object."""

    def __init__(self, library, shape, place, kernel="", threads=0):
        self.library = library
        self.handle = c.c_void_p()
        library.check(library.lib.rl_operation_create(shape.encode(), place, kernel.encode(),
                                                      threads, c.byref(self.handle)))
        about = library.json(library.lib.rl_operation_describe, self.handle)
        self.tensors, self.kernel = about["tensors"], about["kernel"]
        self.workspace_bytes = about["workspace_bytes"]

    def __del__(self):
        if self.handle:
            self.library.lib.rl_operation_free(self.handle)

    def addresses(self, tensors):
        return (c.c_void_p * len(tensors))(*[
            None if t is None else t.data_ptr() for t in tensors])

    def verdict(self, tensors, seed):
        """The gate's, on tensors in host memory."""
        return self.library.json(self.library.lib.rl_operation_check, self.handle,
                                 self.addresses(tensors), c.c_int64(len(tensors)),
                                 c.c_uint64(seed))


def anywhere(library, text):
    """Where it runs does not matter for what its tensors are, nor for the gate; a library's product
    is there on a GPU alone, or on a CPU alone."""
    try:
        return Operation(library, text, CPU)
    except RuntimeError:
        return Operation(library, text, CUDA)


class OperationInputs:
    """One set: `tensors` in the operation's order, outputs poisoned; None where there is none."""

    def __init__(self, problem, generator, device):
        self.tensors = [problem.draw(spec, generator, device) for spec in problem.operation.tensors]
        self.named = {spec["name"]: tensor
                      for spec, tensor in zip(problem.operation.tensors, self.tensors)}

    @property
    def device(self):
        return next(t for t in self.tensors if t is not None).device


class OperationProblem:
    """`text` is the shape, `workload` what the library read in it."""

    is_operation = True
    decode = mixed = False
    page_size = 0

    def __init__(self, library, text, workload):
        self.text, self.workload, self.dtype = text, workload, workload["dtype"]
        self.cache_dtype = self.dtype
        self.name = re.search(r"op=([^,]+)", text).group(1)
        self.steps = self.name.split("+")
        self.scalars, self.extents = workload["scalars"], workload["extents"]
        self.operation = anywhere(library, text) if library else None

    def draw(self, spec, generator, device):
        if spec["rows"] == 0:
            return None
        shape, dtype = (spec["rows"], spec["width"]), DTYPES[spec["dtype"]]
        if spec["output"]:
            fill = torch.full(shape, float("nan"), device=device, dtype=torch.float32)
            return fill.to(dtype)
        if spec["dtype"] == "int32":
            below = self.extents.get("vocab") or self.extents["width"]
            return torch.randint(0, below, shape, generator=generator, device=device, dtype=dtype)
        if spec["name"] == "angles":
            return angles(shape, device)
        # Drawn in float32 and rounded, so that every type sees the same numbers.
        drawn = torch.randn(shape, generator=generator, device=device)
        if self.name == "adam" and spec["name"] == "second":
            drawn.square_()
        elif self.name == "adam" and spec["name"] == "first":
            drawn.mul_(0.25)
        return drawn.to(dtype)

    def inputs(self, generator, device, _spread):
        return OperationInputs(self, generator, device)

    def judge(self, library, inputs, kernel, seed):
        return OperationJudge(library, self, inputs, kernel, seed)

    def ours(self, library, sets, kernel, threads):
        return RacelineOperation(library, self, sets, kernel, threads)

    def set_bytes(self):
        return sum(spec["bytes"] for spec in self.operation.tensors)

    def cache_bytes(self):
        return 0  # nothing is read again and again by calls in turn

    def flops(self):
        e = self.extents
        return 2 * e["m"] * e["n"] * e["k"] if "k" in e else 0

    def rate(self, seconds):
        """TFLOP/s of a product, TB/s of anything else."""
        return (self.flops() or self.set_bytes()) / seconds / 1e12

    @property
    def moves_bytes(self):
        return self.flops() == 0

    def regime(self):
        return f"{self.name} {self.dtype}"


def angles(shape, device):
    """Row r is at position r: cosines of half as many angles as columns, then their sines."""
    rows, d = shape
    i = torch.arange(d // 2, device=device, dtype=torch.float64)
    angle = torch.arange(rows, device=device, dtype=torch.float64)[:, None] * 10000 ** (-2 * i / d)
    return torch.cat([angle.cos(), angle.sin()], dim=1).float()


class RacelineOperation:
    """Our side: one prepared operation, called on a set of tensors."""

    def __init__(self, library, problem, sets, kernel, threads):
        self.library, self.sets = library, sets
        device = sets[0].device
        self.place = CPU if device.type == "cpu" else CUDA
        self.operation = Operation(library, problem.text, self.place, kernel, threads)
        self.addresses = [self.operation.addresses(x.tensors) for x in sets]
        self.outputs = [i for i, spec in enumerate(self.operation.tensors)
                        if spec["output"] and spec["rows"] > 0]
        self.scratch = torch.empty(self.operation.workspace_bytes + WORKSPACE_ALIGNMENT,
                                   dtype=torch.uint8, device=device)
        start = self.scratch.data_ptr()
        self.at = c.c_void_p(start + -start % WORKSPACE_ALIGNMENT)
        self.bytes = c.c_size_t(self.operation.workspace_bytes)
        self.count = c.c_int64(len(self.operation.tensors))
        self.run = library.lib.rl_operation_run

    def __call__(self, index):
        stream = None
        if self.place == CUDA:
            stream = c.c_void_p(torch.cuda.current_stream().cuda_stream)
        status = self.run(self.operation.handle, self.addresses[index], self.count, stream, self.at,
                          self.bytes)
        if status:
            self.library.check(status)
        return tuple(self.sets[index].tensors[i] for i in self.outputs)


class OperationJudge:
    """The library's gate over the outputs of one set. A peer that rounds after every step of a chain
    is let through with its error and a word on it: it is another program than one that rounds once."""

    def __init__(self, library, problem, inputs, kernel, seed):
        self.problem, self.seed = problem, seed
        self.operation = anywhere(library, problem.text)
        self.host = [None if t is None else t.cpu() for t in inputs.tensors]
        self.outputs = [i for i, spec in enumerate(self.operation.tensors)
                        if spec["output"] and spec["rows"] > 0]

    def verdict(self, answer, _accuracy="accurate"):
        if len(answer) != len(self.outputs):
            raise ValueError(f"it gave {len(answer)} outputs, not {len(self.outputs)}")
        tensors = list(self.host)
        for i, out in zip(self.outputs, answer):
            wanted = self.host[i]
            if tuple(out.shape) != tuple(wanted.shape):
                raise ValueError(f"an output has shape {tuple(out.shape)}, not {tuple(wanted.shape)}")
            tensors[i] = out.to(device="cpu", dtype=wanted.dtype).contiguous()
        verdict = self.operation.verdict(tensors, self.seed)
        loose = 2 * (len(self.problem.steps) + 1) * ROUNDOFF[self.problem.dtype]
        if not verdict["passed"] and verdict["relative_rms"] <= loose:
            return {"passed": True, "relative_rms": verdict["relative_rms"],
                    "accuracy": "rounds after every step"}
        return verdict
