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
    A paged cache is (pages, page_size, heads, headdim), its pages in shuffled order; `table`
    (batch, pages of a sequence) says which belongs to whom.
    `spread`: standard deviation of the logits, which queries are multiplied by: attention of trained
    models is often more peaked than that of normals."""

    def __init__(self, problem, generator, device, spread=1.0):
        p, heads_outside = problem, device.type == "cpu"

        def normal(batch, tokens, heads, headdim, dtype, factor=1.0):
            sizes = (batch, heads, tokens, headdim) if heads_outside else (
                batch, tokens, heads, headdim)
            # Drawn in float32 and rounded, so that every dtype sees the same numbers.
            drawn = torch.randn(sizes, generator=generator, device=device)
            drawn = drawn.mul_(factor).to(DTYPES[dtype])
            return drawn.transpose(1, 2) if heads_outside else drawn

        cache = (p.batch * p.pages, p.page_size) if p.page_size else (p.batch, p.seqlen_k)
        self.q = normal(p.batch, p.seqlen_q, p.heads_q, p.headdim, p.dtype, spread)
        self.k = normal(*cache, p.heads_kv, p.headdim, p.cache_dtype)
        self.v = normal(*cache, p.heads_kv, p.headdim_v, p.cache_dtype)
        self.table = self.seqlens = None
        if p.page_size:
            # The same for all sets of a problem: some peers plan a call by it, untimed and once.
            order = torch.randperm(p.batch * p.pages, generator=torch.Generator().manual_seed(1))
            self.table = order.to(device, torch.int32).view(p.batch, p.pages)
            self.seqlens = torch.full((p.batch,), p.seqlen_k, dtype=torch.int32, device=device)
        # Like q, in q's order of strides.
        shape = (p.batch, p.heads_q, p.seqlen_q, p.headdim_v) if heads_outside else (
            p.batch, p.seqlen_q, p.heads_q, p.headdim_v)
        out = torch.full(shape, float("nan"), dtype=DTYPES[p.out_dtype], device=device)
        self.out = out.transpose(1, 2) if heads_outside else out
        # PyTorch's order of dimensions: views, made once so that no call pays for them.
        self.q_t, self.k_t, self.v_t = (t.transpose(1, 2) for t in (self.q, self.k, self.v))

    def on_host(self, problem):
        """Q, and K and V as (batch, seqlen_k, heads, headdim), in host memory."""
        q, k, v = (t.cpu() for t in (self.q, self.k, self.v))
        if problem.page_size:
            rows = self.table.cpu().long()
            k, v = (t.view(torch.uint8)[rows].view(t.dtype).flatten(1, 2)[:, :problem.seqlen_k]
                    if t.dtype == torch.float8_e4m3fn else
                    t[rows].flatten(1, 2)[:, :problem.seqlen_k] for t in (k, v))
        return q, k, v


def view_of(tensor, dtype):
    """A PyTorch tensor (batch, seqlen, heads, headdim) as the C interface describes it."""
    return view(tensor.data_ptr(), dtype, tuple(tensor.shape), tuple(tensor.stride()))


def address_of(tensor):
    return None if tensor is None else tensor.data_ptr()


class Raceline:
    """Our side: one prepared call a set of inputs, through the C interface."""

    def __init__(self, library, problem, sets, kernel, threads=0):
        self.library = library
        self.sets = sets
        self.place = CPU if sets[0].q.device.type == "cpu" else CUDA
        self.calls = [self.call_of(problem, x, library.options(problem.causal, kernel, threads))
                      for x in sets]
        size = library.workspace(self.calls[0], self.place)
        # One workspace for all calls: on one stream they never overlap.
        self.scratch = torch.empty(size + WORKSPACE_ALIGNMENT, dtype=torch.uint8,
                                   device=sets[0].q.device)
        start = self.scratch.data_ptr()
        self.at = c.c_void_p(start + -start % WORKSPACE_ALIGNMENT)
        self.bytes = c.c_size_t(size)
        self.enqueue = library.attention(self.calls[0])[1]

    def call_of(self, problem, x, options):
        views = [view_of(x.q, problem.dtype), view_of(x.k, problem.cache_dtype),
                 view_of(x.v, problem.cache_dtype), view_of(x.out, problem.out_dtype)]
        if not (problem.page_size or problem.mixed):
            return self.library.forward_args(*views, options)
        return self.library.decode_args(*views, options, problem.seqlen_k, address_of(x.seqlens),
                                        address_of(x.table), problem.pages)

    def __call__(self, index):
        """Enqueues one call on the current stream (a CPU has answered on return)."""
        stream = None
        if self.place == CUDA:
            stream = c.c_void_p(torch.cuda.current_stream().cuda_stream)
        status = self.enqueue(c.byref(self.calls[index]), self.place, stream, self.at, self.bytes)
        if status:
            self.library.check(status)
        return self.sets[index].out


class Judge:
    """The library's gate over the outputs of one set of inputs.

    Over an 8-bit cache with 16-bit queries it looks at the same numbers in the queries' type, which
    holds every e4m3 number exactly; "fast" then takes the queries as rounded to e4m3, and bounds of
    8-bit products."""

    def __init__(self, library, problem, inputs, kernel, seed):
        self.library, self.problem, self.kernel, self.seed = library, problem, kernel, seed
        self.host = [t.to(DTYPES[problem.dtype]) for t in inputs.on_host(problem)]

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
        host, given, dtype, kernel = out.cpu(), self.host, self.problem.dtype, self.kernel
        if self.problem.mixed and accuracy == "fast":
            dtype, kernel = self.problem.cache_dtype, "prefill_sm90_fp8"
            given = [t.to(DTYPES[dtype]) for t in given]
        views = [view_of(t, dtype) for t in given]
        views.append(view_of(host, self.problem.out_dtype))
        options = self.library.options(self.problem.causal, accuracy=accuracy)
        return self.library.check_forward(self.library.forward_args(*views, options), kernel,
                                          self.seed)
