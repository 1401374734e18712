# SPDX-License-Identifier: Apache-2.0
"""One call of the extension module: its arguments by name, its outputs, its run."""

from __future__ import annotations

from typing import Any, Mapping

from . import _core
from ._table import kind_of
from ._tensors import Library, view


def _views(**tensors: Any) -> dict[str, Any]:
    """The tensors by name, as `_core` reads them. A short call takes as long on the host as on
    the GPU, so tensors that need no view are found first."""
    if _core.all_addressable(*tensors.values()):
        return tensors
    return {name: view(name, x) for name, x in tensors.items()}


def forward_inputs(
    library: Library, q: Any, k: Any, v: Any, sinks: Any, cu_seqlens_q: Any, cu_seqlens_k: Any,
    q_scale: Any, k_scale: Any, v_scale: Any, causal: Any, window: Any, scale: Any, softcap: Any,
    backend: Any, accuracy: Any, max_seqlen_q: Any = None, max_seqlen_k: Any = None,
) -> dict[str, Any]:
    """Everything that `_core.ForwardCall` reads, by name."""
    given = {
        **_views(q=q, k=k, v=v, sinks=sinks, q_scale=q_scale, k_scale=k_scale, v_scale=v_scale),
        "causal": causal, "window": window, "scale": scale, "softcap": softcap, "backend": backend,
        "accuracy": accuracy, "max_seqlen_q": max_seqlen_q, "max_seqlen_k": max_seqlen_k,
    }
    if (max_seqlen_q is None) != (max_seqlen_k is None):
        raise ValueError("max_seqlen_q and max_seqlen_k are given together or not at all")
    bounded = max_seqlen_q is not None
    for name, sums in (("cu_seqlens_q", cu_seqlens_q), ("cu_seqlens_k", cu_seqlens_k)):
        if sums is not None:
            given[name], given["device_" + name] = library.prefix_sums(name, sums, q, bounded)
    return given


def decode_inputs(
    q: Any, k_cache: Any, v_cache: Any, block_table: Any, seqlens: Any, max_seqlen: Any, sinks: Any,
    k_scale: Any, v_scale: Any, causal: Any, window: Any, scale: Any, softcap: Any, backend: Any,
    checked: Any, tree: Any, cu_seqlens_q: Any, max_seqlen_q: Any,
) -> dict[str, Any]:
    """Everything that `_core.DecodeCall` reads, by name."""
    return {
        **_views(q=q, k_cache=k_cache, v_cache=v_cache, block_table=block_table, seqlens=seqlens,
                 sinks=sinks, k_scale=k_scale, v_scale=v_scale, tree=tree,
                 cu_seqlens_q=cu_seqlens_q),
        "max_seqlen": max_seqlen, "max_seqlen_q": max_seqlen_q, "causal": causal, "window": window,
        "scale": scale, "softcap": softcap, "backend": backend, "checked": checked,
    }


def combine_inputs(out_parts: Any, lse_parts: Any, sinks: Any) -> dict[str, Any]:
    """Everything that `_core.CombineCall` reads, by name. The LSEs may have any strides."""
    return _views(out_parts=out_parts, lse_parts=lse_parts, sinks=sinks)


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
