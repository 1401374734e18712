# SPDX-License-Identifier: Apache-2.0
"""PyTorch on a CPU: every form in which it gives the answer, each a peer of its own."""

import contextlib
import math

import torch
import torch.nn.functional as F

LARGEST_SCORES = 4 << 30  # bytes of the score matrix that matmul_softmax may take


class TorchForm:
    """One way to write attention in PyTorch. `backend` is its name in receipts."""

    name = "torch_cpu"
    version = torch.__version__

    def __init__(self, backend, refusal, bind):
        self.backend, self.refusal, self.bind = backend, refusal, bind

    @property
    def label(self):
        return self.backend

    def context(self):
        return contextlib.nullcontext()


def mask_refusal(problem):
    if problem.masked and problem.seqlen_q != problem.seqlen_k:
        return "PyTorch's causal mask aligns top-left where the lengths differ"
    return ""


def sdpa_refusal(problem):
    return "its heads are not grouped" if problem.group > 1 else mask_refusal(problem)


def gqa_refusal(problem):
    return mask_refusal(problem) if problem.group > 1 else "no group of heads"


def folded_refusal(problem):
    if problem.group == 1:
        return "no group of heads"
    return "rows of a group would need masks of their own" if problem.masked else ""


def matmul_refusal(problem):
    p = problem
    scores = p.batch * p.heads_q * p.seqlen_q * p.seqlen_k * p.bytes_of(p.dtype)
    if scores > LARGEST_SCORES:
        return f"its score matrix would take {scores / 1e9:.0f} GB"
    if p.masked and p.group > 1:
        return "rows of a group would need masks of their own"
    return mask_refusal(p)


def sdpa(problem, sets):
    causal = problem.masked

    def call(i):
        x = sets[i]
        return F.scaled_dot_product_attention(x.q_t, x.k_t, x.v_t, is_causal=causal).transpose(1, 2)
    return call


def enable_gqa(problem, sets):
    causal = problem.masked

    def call(i):
        x = sets[i]
        return F.scaled_dot_product_attention(x.q_t, x.k_t, x.v_t, is_causal=causal,
                                              enable_gqa=True).transpose(1, 2)
    return call


def fold(problem, q):
    """(batch, heads_kv, group · seqlen, headdim): a group's heads become rows of one head."""
    return q.reshape(problem.batch, problem.heads_kv, problem.group * problem.seqlen_q, -1)


def unfold(problem, out):
    return out.view(problem.batch, problem.heads_q, problem.seqlen_q, -1).transpose(1, 2)


def folded_rows(problem, sets):
    def call(i):
        x = sets[i]
        out = F.scaled_dot_product_attention(fold(problem, x.q_t), x.k_t, x.v_t)
        return unfold(problem, out)
    return call


def matmul_softmax(problem, sets):
    scale = 1 / math.sqrt(problem.headdim)
    # Made once, outside of what is timed: a user would keep it too.
    hidden = None
    if problem.masked:
        hidden = torch.ones(problem.seqlen_q, problem.seqlen_k, dtype=torch.bool).triu(1)

    def call(i):
        x = sets[i]
        scores = torch.matmul(fold(problem, x.q_t) * scale, x.k_t.transpose(-1, -2))
        if hidden is not None:
            scores.masked_fill_(hidden, float("-inf"))
        return unfold(problem, torch.matmul(torch.softmax(scores, dim=-1), x.v_t))
    return call


def torch_forms():
    """Every form; each says itself what it cannot be asked for."""
    return [TorchForm("sdpa", sdpa_refusal, sdpa),
            TorchForm("enable_gqa", gqa_refusal, enable_gqa),
            TorchForm("folded_rows", folded_refusal, folded_rows),
            TorchForm("matmul_softmax", matmul_refusal, matmul_softmax)]
