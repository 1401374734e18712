# SPDX-License-Identifier: Apache-2.0
"""The tensors that all contenders share, and raceline over them."""

import ctypes as c

import torch

from c_library import CPU, CUDA, WORKSPACE_ALIGNMENT, view

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16,
          "e4m3": torch.float8_e4m3fn}


class Inputs:
    """Distinct standard normals, shaped (batch, seqlen, heads, headdim). In memory they lie in the
    order that is native to the peers: token by token on a GPU, head by head on a CPU, where
    PyTorch's tensors are (batch, heads, seqlen, headdim); raceline reads either through strides.
    `spread`: standard deviation of the logits, which queries are multiplied by: attention of trained
    models is often more peaked than that of normals."""

    def __init__(self, problem, generator, device, spread=1.0):
        p, heads_outside = problem, device.type == "cpu"

        def normal(tokens, heads, headdim, factor=1.0):
            sizes = (p.batch, heads, tokens, headdim) if heads_outside else (
                p.batch, tokens, heads, headdim)
            # Drawn in float32 and rounded, so that every dtype sees the same numbers.
            drawn = torch.randn(sizes, generator=generator, device=device)
            drawn = drawn.mul_(factor).to(DTYPES[p.dtype])
            return drawn.transpose(1, 2) if heads_outside else drawn

        self.q = normal(p.seqlen_q, p.heads_q, p.headdim, spread)
        self.k = normal(p.seqlen_k, p.heads_kv, p.headdim)
        self.v = normal(p.seqlen_k, p.heads_kv, p.headdim_v)
        # Like q, in q's order of strides.
        shape = (p.batch, p.heads_q, p.seqlen_q, p.headdim_v) if heads_outside else (
            p.batch, p.seqlen_q, p.heads_q, p.headdim_v)
        out = torch.full(shape, float("nan"), dtype=DTYPES[p.out_dtype], device=device)
        self.out = out.transpose(1, 2) if heads_outside else out
        # PyTorch's order of dimensions: views, made once so that no call pays for them.
        self.q_t, self.k_t, self.v_t = (t.transpose(1, 2) for t in (self.q, self.k, self.v))


def view_of(tensor, dtype):
    """A PyTorch tensor (batch, seqlen, heads, headdim) as the C interface describes it."""
    return view(tensor.data_ptr(), dtype, tuple(tensor.shape), tuple(tensor.stride()))


class Raceline:
    """Our side: one prepared call a set of inputs, through the C interface."""

    def __init__(self, library, problem, sets, kernel, threads=0):
        self.library = library
        self.sets = sets
        self.place = CPU if sets[0].q.device.type == "cpu" else CUDA
        self.calls = []
        for x in sets:
            options = library.options(problem.causal, kernel, threads)
            views = [view_of(t, problem.dtype) for t in (x.q, x.k, x.v)]
            views.append(view_of(x.out, problem.out_dtype))
            self.calls.append(library.forward_args(*views, options))
        size = library.workspace(self.calls[0], self.place)
        # One workspace for all calls: on one stream they never overlap.
        self.scratch = torch.empty(size + WORKSPACE_ALIGNMENT, dtype=torch.uint8,
                                   device=sets[0].q.device)
        start = self.scratch.data_ptr()
        self.at = c.c_void_p(start + -start % WORKSPACE_ALIGNMENT)
        self.bytes = c.c_size_t(size)
        self.forward = library.lib.rl_forward

    def __call__(self, index):
        """Enqueues one call on the current stream (a CPU has answered on return)."""
        stream = None
        if self.place == CUDA:
            stream = c.c_void_p(torch.cuda.current_stream().cuda_stream)
        status = self.forward(c.byref(self.calls[index]), self.place, stream, self.at, self.bytes)
        if status:
            self.library.check(status)
        return self.sets[index].out


class Judge:
    """The library's gate over the outputs of one set of inputs."""

    def __init__(self, library, problem, inputs, kernel, seed):
        self.library, self.problem, self.kernel, self.seed = library, problem, kernel, seed
        self.host = [t.cpu() for t in (inputs.q, inputs.k, inputs.v)]

    def verdict(self, out, accuracy="accurate"):
        """What a receipt holds as `correctness`. `out`: (batch, seqlen, heads, headdim_v).
        `accuracy`: "fast" judges 8-bit products by what the tensor core alone adds up."""
        wanted = (self.problem.batch, self.problem.seqlen_q, self.problem.heads_q,
                  self.problem.headdim_v)
        if tuple(out.shape) != wanted:
            raise ValueError(f"its output has shape {tuple(out.shape)}, not {wanted}")
        wanted = DTYPES[self.problem.out_dtype]
        if out.dtype != wanted:
            raise ValueError(f"its output is {out.dtype}, not {wanted}")
        host = out.cpu()
        views = [view_of(t, self.problem.dtype) for t in self.host]
        views.append(view_of(host, self.problem.out_dtype))
        options = self.library.options(self.problem.causal, accuracy=accuracy)
        return self.library.check_forward(self.library.forward_args(*views, options),
                                          self.kernel, self.seed)
