# SPDX-License-Identifier: Apache-2.0
"""One call of the extension module: its arguments by name, its outputs, its run."""

from __future__ import annotations

from typing import Any, Mapping

from . import _core
from ._table import kind_of
from ._tensors import Library, view


def forward_inputs(
    library: Library, q: Any, k: Any, v: Any, sinks: Any, cu_seqlens_q: Any, cu_seqlens_k: Any,
    q_scale: Any, k_scale: Any, v_scale: Any, causal: Any, window: Any, scale: Any, softcap: Any,
    backend: Any, accuracy: Any,
) -> dict[str, Any]:
    """Everything that `_core.ForwardCall` reads, by name."""
    given = {
        "q": library.view("q", q), "k": view("k", k), "v": view("v", v),
        "sinks": view("sinks", sinks), "q_scale": view("q_scale", q_scale),
        "k_scale": view("k_scale", k_scale), "v_scale": view("v_scale", v_scale),
        "causal": causal, "window": window, "scale": scale, "softcap": softcap, "backend": backend,
        "accuracy": accuracy,
    }
    for name, sums in (("cu_seqlens_q", cu_seqlens_q), ("cu_seqlens_k", cu_seqlens_k)):
        if sums is not None:
            given[name], given["device_" + name] = library.prefix_sums(name, sums, q)
    return given


def decode_inputs(
    q: Any, k_cache: Any, v_cache: Any, block_table: Any, seqlens: Any, max_seqlen: Any, sinks: Any,
    k_scale: Any, v_scale: Any, causal: Any, window: Any, scale: Any, softcap: Any, backend: Any,
    checked: Any, tree: Any,
) -> dict[str, Any]:
    """Everything that `_core.DecodeCall` reads, by name."""
    # A short call costs as much on the host as on the GPU, so what needs no view is found at once.
    if not _core.all_addressable(
        q, k_cache, v_cache, block_table, seqlens, sinks, k_scale, v_scale, tree
    ):
        q, k_cache, v_cache = view("q", q), view("k_cache", k_cache), view("v_cache", v_cache)
        block_table, seqlens = view("block_table", block_table), view("seqlens", seqlens)
        sinks, tree = view("sinks", sinks), view("tree", tree)
        k_scale, v_scale = view("k_scale", k_scale), view("v_scale", v_scale)
    return {
        "q": q, "k_cache": k_cache, "v_cache": v_cache, "block_table": block_table,
        "seqlens": seqlens, "max_seqlen": max_seqlen, "sinks": sinks, "k_scale": k_scale,
        "v_scale": v_scale, "causal": causal, "window": window, "scale": scale, "softcap": softcap,
        "backend": backend, "checked": checked, "tree": tree,
    }


def combine_inputs(out_parts: Any, lse_parts: Any, sinks: Any) -> dict[str, Any]:
    """Everything that `_core.CombineCall` reads, by name. The LSEs may have any strides."""
    return {
        "out_parts": view("out_parts", out_parts), "lse_parts": view("lse_parts", lse_parts),
        "sinks": view("sinks", sinks),
    }


def run(
    library: Library, kind: Any, q: Any, given: Mapping[str, Any], return_lse: bool,
    dtype: Any = None,
) -> Any:
    """Checks the call, allocates its outputs in q's library, and runs it on the current stream.
    dtype: the output's; None: that of q."""
    if not isinstance(return_lse, bool):
        raise TypeError(f"return_lse is {kind_of(return_lse)}; it must be True or False")
    stream = library.stream(q)
    call = kind(given, stream)
    out = library.empty(call.out_shape, q, dtype)
    lse = library.empty_float(call.lse_shape, q) if return_lse else None
    library.launch(call, q, out, lse, stream)
    if lse is None:
        return library.finished(out)
    return library.finished(out), library.finished(lse)
