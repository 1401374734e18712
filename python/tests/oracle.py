# SPDX-License-Identifier: Apache-2.0
"""The answer in float64, written as the definition reads."""

import numpy as np

# Relative RMS of the error that a storage type allows: its rounding of inputs, probabilities and
# output, a few units in the last place.
BOUND = {"float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3}


def visible(seqlen_q, seqlen_k, causal, window):
    """Which keys each query sees; both ends aligned at the last token."""
    i = np.arange(seqlen_q)[:, None] + seqlen_k - seqlen_q
    j = np.arange(seqlen_k)[None, :]
    seen = np.ones((seqlen_q, seqlen_k), bool)
    left, right = window or (None, None)
    if left is not None and left >= 0:
        seen &= j >= i - left
    if right is not None and right >= 0:
        seen &= j <= i + right
    return seen & (j <= i) if causal else seen


def one_sequence(q, k, v, causal=False, window=None, scale=None, softcap=None, sinks=None, words=None):
    """(seqlen, heads, headdim) each -> out, lse. words: of a tree, one a query."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat(group, axis=1), v.repeat(group, axis=1)
    logits = np.einsum("qhd,khd->hqk", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        logits = softcap * np.tanh(logits / softcap)
    seen = visible(len(q), len(k), causal, window)
    if words is not None:
        token = np.arange(len(k)) - (len(k) - len(q))
        bits = np.asarray(words, np.uint32)[:, None] >> np.maximum(token, 0).astype(np.uint32) & 1
        seen &= (token < 0) | (bits == 1)
    logits = np.where(seen, logits, -np.inf)
    sink = np.full(q.shape[1], -np.inf) if sinks is None else np.asarray(sinks, np.float64)
    top = np.maximum(logits.max(-1, initial=-np.inf), sink[:, None])
    shift = np.where(np.isfinite(top), top, 0)
    weights = np.exp(logits - shift[..., None])
    total = weights.sum(-1) + np.exp(sink[:, None] - shift)
    with np.errstate(divide="ignore"):
        lse = shift + np.log(total)
    weights = weights / np.where(total > 0, total, 1)[..., None]
    return np.einsum("hqk,khd->qhd", weights, v), lse.T


def batch(q, k, v, **options):
    """(batch, seqlen, heads, headdim) each."""
    outs, lses = zip(*(one_sequence(*x, **options) for x in zip(q, k, v)))
    return np.stack(outs), np.stack(lses)


def ragged(q, k, v, cu_q, cu_k, **options):
    parts = [
        one_sequence(q[a:b], k[c:d], v[c:d], **options)
        for a, b, c, d in zip(cu_q, cu_q[1:], cu_k, cu_k[1:])
    ]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def cached(q, k_cache, v_cache, seqlens, block_table=None, tree=None, **options):
    """Decode: the used part of each cache, gathered page by page if there is a table."""
    outs, lses = [], []
    for b, length in enumerate(seqlens):
        if block_table is None:
            k, v = k_cache[b, :length], v_cache[b, :length]
        else:
            pages = block_table[b, : -(-length // k_cache.shape[1])]
            k, v = (np.concatenate(list(c[pages]))[:length] for c in (k_cache, v_cache))
        out, lse = one_sequence(q[b], k, v, words=None if tree is None else tree[b], **options)
        outs.append(out)
        lses.append(lse)
    return np.stack(outs), np.stack(lses)


def cached_packed(q, k_cache, v_cache, cu_q, seqlens, block_table=None, tree=None, **options):
    """Decode of a packed q: each sequence by itself."""
    parts = []
    for b, (first, end) in enumerate(zip(cu_q, cu_q[1:])):
        table = None if block_table is None else block_table[b : b + 1]
        caches = (k_cache, v_cache) if table is not None else (k_cache[b : b + 1], v_cache[b : b + 1])
        words = None if tree is None else tree[None, first:end]
        parts.append(cached(q[None, first:end], *caches, seqlens[b : b + 1], table, words, **options))
    return np.concatenate([p[0][0] for p in parts]), np.concatenate([p[1][0] for p in parts])


def error(out, reference):
    """Relative RMS."""
    out = np.asarray(out).astype(np.float64)
    assert out.shape == reference.shape
    return np.linalg.norm(out - reference) / np.linalg.norm(reference)


def check(out, reference, dtype="float32"):
    assert error(out, reference) <= BOUND[str(dtype)]


def check_lse(lse, reference, dtype="float32"):
    lse = np.asarray(lse)
    assert lse.shape == reference.shape
    assert lse.dtype == np.float32
    finite = np.isfinite(reference)
    assert (np.isneginf(lse) == np.isneginf(reference)).all()
    assert np.abs(lse[finite] - reference[finite]).max(initial=0) <= 10 * BOUND[str(dtype)]
