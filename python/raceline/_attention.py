# SPDX-License-Identifier: Apache-2.0
"""Attention, decode and combine over tensors of any library."""

from __future__ import annotations

from typing import Any

from . import _core
from ._call import combine_inputs, decode_inputs, forward_inputs, run
from ._tensors import is_torch, library_of

_torch: Any = None


def _operators() -> Any:
    """raceline.torch, which is imported with the first PyTorch tensor. An import statement in every
    call would cost half a microsecond."""
    global _torch
    if _torch is None:
        from . import torch

        _torch = torch
    return _torch


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    window: tuple[int | None, int | None] | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Any = None,
    cu_seqlens_q: Any = None,
    cu_seqlens_k: Any = None,
    q_scale: Any = None,
    k_scale: Any = None,
    v_scale: Any = None,
    return_lse: bool = False,
    backend: str | None = None,
    accuracy: str = "accurate",
    max_seqlen_q: int | None = None,
    max_seqlen_k: int | None = None,
) -> Any:
    """softmax(scale · q kᵀ + mask) v for every head: prefill, and the forward pass of training.

    Args:
        q: (batch, seqlen_q, heads_q, headdim), float32, float16, bfloat16 or, on Hopper,
            float8_e4m3fn.
        k: (batch, seqlen_k, heads_kv, headdim), of q's dtype; heads_q is a multiple of heads_kv.
        v: (batch, seqlen_k, heads_kv, headdim_v), of q's dtype.
        causal: query i sees keys up to i + seqlen_k - seqlen_q (aligned bottom-right).
        window: (left, right), inclusive offsets around the aligned query: keys i - left to
            i + right. None or a negative number leaves a side unbounded.
        scale: factor of the logits, above 0; None: 1 / sqrt(headdim).
        softcap: s becomes softcap · tanh(s / softcap); None or 0: no softcap.
        sinks: (heads_q,) float32: one more logit per head, in the softmax sum but without a value.
        cu_seqlens_q, cu_seqlens_k: prefix sums (batch + 1,) int32 of a ragged batch; q, k and v are
            then packed as (total tokens, heads, headdim). For tensors on a GPU they are copied to
            the host (or from it), which waits for the stream and cannot be captured in a graph,
            unless both bounds are given.
        max_seqlen_q, max_seqlen_k: upper bounds of the sequences' lengths, both or neither. With
            sums on the GPU the call then reads nothing on the host, and a captured one can be
            replayed with other sums: none may fall or end behind the total, and no length may be
            above its bound (its rows may be left unwritten).
        q_scale, k_scale, v_scale: (batch, heads_kv) float32, positive factors of e4m3 tensors;
            None: 1.
        return_lse: also return the log-sum-exp of each row.
        backend: a kernel's name; None: the one with the least predicted time.
        accuracy: "accurate", or "fast": e4m3 on Hopper then adds up P·V in the tensor core alone,
            which loses bits over long contexts if values share a sign. Elsewhere nothing changes.

    Returns:
        Any: out, (batch, seqlen_q, heads_q, headdim_v) or (total, heads_q, headdim_v), of q's
        library, on its device, in its dtype (bfloat16 for float8_e4m3fn). With `return_lse` a pair
        (out, lse): lse is float32, natural logarithm, (batch, seqlen_q, heads_q) or
        (total, heads_q). A query that sees no key gets zeros and an LSE of -inf (of its sink,
        where there are sinks).

    Raises:
        TypeError: an argument is not a tensor, or has a dtype that attention does not take.
        ValueError: shapes, devices or values do not fit; the message names the argument.
        NotImplementedError: the named backend cannot run the call; the message says why.

    Inputs may be read-only, strided, empty or repeat elements; one whose last dimension is not
    contiguous is copied first. On a GPU the work is enqueued on the current stream. The GIL is
    released while kernels run. Source: docs/guides/python.md.
    """
    if is_torch(q) and not _operators().nobody_watches(q, k, v, sinks, q_scale, k_scale, v_scale):
        return _operators().attention(
            q, k, v, causal=causal, window=window, scale=scale, softcap=softcap, sinks=sinks,
            cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k, q_scale=q_scale, k_scale=k_scale,
            v_scale=v_scale, return_lse=return_lse, backend=backend, accuracy=accuracy,
            max_seqlen_q=max_seqlen_q, max_seqlen_k=max_seqlen_k,
        )
    library = library_of("q", q)
    given = forward_inputs(
        library, q, k, v, sinks, cu_seqlens_q, cu_seqlens_k, q_scale, k_scale, v_scale, causal,
        window, scale, softcap, backend, accuracy, max_seqlen_q, max_seqlen_k,
    )
    return run(library, _core.ForwardCall, q, given, return_lse)


def decode(
    q: Any,
    k_cache: Any,
    v_cache: Any,
    *,
    block_table: Any = None,
    seqlens: Any = None,
    max_seqlen: int | None = None,
    causal: bool = False,
    window: tuple[int | None, int | None] | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Any = None,
    k_scale: Any = None,
    v_scale: Any = None,
    return_lse: bool = False,
    backend: str | None = None,
    checked: bool | None = None,
    tree: Any = None,
    cu_seqlens_q: Any = None,
    max_seqlen_q: int | None = None,
) -> Any:
    """One or a few new tokens of each sequence against its cache.

    Args:
        q: (batch, seqlen_q, heads_q, headdim), or packed (total tokens, heads_q, headdim) with
            cu_seqlens_q; float32, float16 or bfloat16.
        k_cache: (batch, capacity, heads_kv, headdim) or, with a block table, (pages, page_size,
            heads_kv, headdim); of q's dtype or float8_e4m3fn. The new tokens are already in it.
        v_cache: like k_cache with headdim_v. A view of the first columns of k_cache makes the two
            one latent cache, as in MLA.
        block_table: (batch, pages of a sequence) int32: page i of a sequence in the caches. Entries
            past a sequence's length are not read.
        seqlens: (batch,) int32, used lengths; None: all are max_seqlen.
        max_seqlen: upper bound of the lengths, by which the call is planned. None: their maximum on
            a CPU, the capacity of the cache on a GPU. Give it on a GPU if you know it.
        causal, window, scale, softcap, sinks: as in `attention`. With one query a sequence, causal
            changes nothing.
        k_scale, v_scale: float32 factors of e4m3 caches; None: 1. (batch, heads_kv), or one for
            each token and KV head: (batch, capacity, heads_kv) or (pages, page_size, heads_kv), of
            any strides; then give both. Among GPUs only Hopper takes these, four at a time if tokens
            are adjacent (stride 1).
        return_lse: also return the log-sum-exp of each row.
        backend: a kernel's name; None: the one with the least predicted time.
        checked: refuse out-of-range pages, lengths, sums and bits of a tree before running. On a GPU
            this waits for the stream. None: only on a CPU.
        tree: (batch, seqlen_q) uint32 or int32, for at most 32 speculated tokens a sequence. Bit j
            of a token's word is set if it sees new token j, which stands seqlen_q - j before the
            end of its sequence's keys. Older keys are seen by all. Without causal and window, which
            are refused beside it.

            A bit at or above seqlen_q is refused on a CPU and where `checked`; unchecked, on a GPU,
            it is ignored. A token that sees no key gets 0 and an LSE of -inf (or of its sink, if
            there are sinks).

            With cu_seqlens_q it is (total tokens,), and seqlen_q is each sequence's own number of
            tokens.
        cu_seqlens_q: (batch + 1,) int32, for sequences with different numbers of new tokens, which
            may be 0: the prefix sums of these numbers, from 0 to the total. It is on the device of
            q, where it stays: a call on a GPU does not wait for it, and a captured graph can be
            replayed with other sums of the same total.

            Wrong sums are refused on a CPU and where `checked`; unchecked, on a GPU, the answer to
            them is undefined.
        max_seqlen_q: with cu_seqlens_q, upper bound of a sequence's new tokens, by which the call is
            planned. None: their maximum on a CPU; on a GPU 16, or the total if that is less. Give it
            on a GPU if you know it; where it is above 16, you must.

    Returns, raises: as `attention`; lse is (batch, seqlen_q, heads_q). With cu_seqlens_q they are
    (total tokens, heads_q, headdim_v) and (total tokens, heads_q).
    """
    if is_torch(q):
        operators = _operators()
        # The extension itself leaves what it cannot take: tensors of the operator, and copies.
        if operators.nobody_watches():
            done = _core.decode(
                return_lse, q, k_cache, v_cache, block_table, seqlens, sinks, k_scale, v_scale,
                tree, cu_seqlens_q, causal, window, scale, softcap, backend, checked, max_seqlen,
                max_seqlen_q,
            )
            if done is not None:
                return done
        if not operators.nobody_watches(q, k_cache, v_cache, sinks, k_scale, v_scale):
            return operators.decode(
                q, k_cache, v_cache, block_table=block_table, seqlens=seqlens,
                max_seqlen=max_seqlen, causal=causal, window=window, scale=scale, softcap=softcap,
                sinks=sinks, k_scale=k_scale, v_scale=v_scale, return_lse=return_lse,
                backend=backend, checked=checked, tree=tree, cu_seqlens_q=cu_seqlens_q,
                max_seqlen_q=max_seqlen_q,
            )
    library = library_of("q", q)
    given = decode_inputs(
        q, k_cache, v_cache, block_table, seqlens, max_seqlen, sinks, k_scale, v_scale, causal,
        window, scale, softcap, backend, checked, tree, cu_seqlens_q, max_seqlen_q,
    )
    return run(library, _core.DecodeCall, q, given, return_lse)


def combine(
    out_parts: Any,
    lse_parts: Any,
    *,
    sinks: Any = None,
    dtype: Any = None,
    return_lse: bool = False,
) -> Any:
    """Combines partial results of the same queries over disjoint sets of keys: splits of a cache, a
    prefix that sequences share, or keys on several GPUs.

    Args:
        out_parts: (parts, rows, heads, headdim), float32, float16 or bfloat16; a row is a query
            token of any sequence.
        lse_parts: (parts, rows, heads) float32, natural logarithms, as `attention` and `decode`
            return them. A part with -inf saw no key and is ignored, whatever its output
            holds.
        sinks: (heads,) float32: one more logit per head. It must be counted once: give it either
            here or to one of the calls that made the parts.
        dtype: of the output, one that out_parts may have, as its library names it; None: that of
            out_parts.
        return_lse: also return the log-sum-exp of each row.

    Returns:
        Any: out, (rows, heads, headdim), in the library of out_parts: the parts' mean weighted by
        exp(LSE), added up in float32; with `return_lse` a pair (out, lse), lse (rows, heads)
        float32, that of all keys. A row that no part has seen gets zeros and -inf (its sink, where
        there are sinks). NaN in an LSE, +inf there, or NaN in the output of a part that counts
        gives NaN.

    Raises: as `attention`.
    """
    if is_torch(out_parts):
        _operators().check_dtype(dtype)
        if not _operators().nobody_watches(out_parts, lse_parts, sinks):
            return _operators().combine(
                out_parts, lse_parts, sinks=sinks, dtype=dtype, return_lse=return_lse
            )
    library = library_of("out_parts", out_parts)
    given = combine_inputs(out_parts, lse_parts, sinks)
    return run(library, _core.CombineCall, out_parts, given, return_lse, dtype)
