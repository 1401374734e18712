# SPDX-License-Identifier: Apache-2.0
"""The operators torch.ops.raceline.attention and .decode, and the functions that call them.

`raceline.attention` and `raceline.decode` come here with PyTorch's tensors, so that torch.compile,
CUDA graphs and torch.export see one operator each. There is no backward kernel yet: gradients raise.
"""

from __future__ import annotations

from typing import Any, Optional, Sequence

import torch

from . import _core
from ._attention import decode_inputs, forward_inputs, run
from ._tensors import library_of

_NO_BACKWARD = (
    "raceline has no backward kernel yet: call it under torch.no_grad(), or on tensors that need "
    "no gradient (x.detach())"
)


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool = False,
    window: tuple[int | None, int | None] | None = None, scale: float | None = None,
    softcap: float | None = None, sinks: torch.Tensor | None = None,
    cu_seqlens_q: torch.Tensor | None = None, cu_seqlens_k: torch.Tensor | None = None,
    return_lse: bool = False, backend: str | None = None,
) -> Any:
    """`raceline.attention` for tensors of PyTorch."""
    out, lse = _attention(
        q, _tensor("k", k), _tensor("v", v), _tensor("sinks", sinks),
        _tensor("cu_seqlens_q", cu_seqlens_q), _tensor("cu_seqlens_k", cu_seqlens_k),
        _flag("causal", causal), _window(window), _number("scale", scale),
        _number("softcap", softcap), _flag("return_lse", return_lse), backend,
    )
    return (out, lse) if return_lse else out


def decode(
    q: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor, *,
    block_table: torch.Tensor | None = None, seqlens: torch.Tensor | None = None,
    max_seqlen: int | None = None, causal: bool = False,
    window: tuple[int | None, int | None] | None = None, scale: float | None = None,
    softcap: float | None = None, sinks: torch.Tensor | None = None,
    k_scale: torch.Tensor | None = None, v_scale: torch.Tensor | None = None,
    return_lse: bool = False, backend: str | None = None, checked: bool | None = None,
) -> Any:
    """`raceline.decode` for tensors of PyTorch."""
    out, lse = _decode(
        q, _tensor("k_cache", k_cache), _tensor("v_cache", v_cache),
        _tensor("block_table", block_table), _tensor("seqlens", seqlens), max_seqlen,
        _tensor("sinks", sinks), _tensor("k_scale", k_scale), _tensor("v_scale", v_scale),
        _flag("causal", causal), _window(window), _number("scale", scale),
        _number("softcap", softcap), _flag("return_lse", return_lse), backend,
        None if checked is None else _flag("checked", checked),
    )
    return (out, lse) if return_lse else out


# What the operators' schemas would refuse without naming the argument.


def _tensor(name: str, x: Any) -> Any:
    if x is None or isinstance(x, torch.Tensor):
        return x
    library_of(name, x)  # refuses what is no tensor
    return torch.from_dlpack(x)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} is a {type(value).__name__}; it must be True or False")
    return value


def _number(name: str, value: Any) -> Optional[float]:
    if value is None or isinstance(value, float):
        return value
    if isinstance(value, str) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} is a {type(value).__name__}; it must be a number")
    return float(value)


def _window(window: Any) -> Optional[list[int]]:
    if window is None:
        return None
    if not isinstance(window, Sequence) or isinstance(window, str):
        raise TypeError(
            f"window is a {type(window).__name__}; it must be None or a pair (left, right)"
        )
    if len(window) != 2:
        raise ValueError(f"window has {len(window)} entries; it must be None or a pair")
    return [-1 if side is None else side for side in window]


# The operators. A lse that was not asked for comes back empty: an operator has one signature.


@torch.library.custom_op("raceline::attention", mutates_args=())
def _attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, sinks: Optional[torch.Tensor],
    cu_seqlens_q: Optional[torch.Tensor], cu_seqlens_k: Optional[torch.Tensor], causal: bool,
    window: Optional[Sequence[int]], scale: Optional[float], softcap: Optional[float],
    return_lse: bool, backend: Optional[str],
) -> tuple[torch.Tensor, torch.Tensor]:
    library = library_of("q", q)
    given = forward_inputs(library, q, k, v, sinks, cu_seqlens_q, cu_seqlens_k, causal, window,
                           scale, softcap, backend)
    return _pair(run(library, _core.ForwardCall, q, given, return_lse), q)


@torch.library.custom_op("raceline::decode", mutates_args=())
def _decode(
    q: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor,
    block_table: Optional[torch.Tensor], seqlens: Optional[torch.Tensor],
    max_seqlen: Optional[int], sinks: Optional[torch.Tensor], k_scale: Optional[torch.Tensor],
    v_scale: Optional[torch.Tensor], causal: bool, window: Optional[Sequence[int]],
    scale: Optional[float], softcap: Optional[float], return_lse: bool, backend: Optional[str],
    checked: Optional[bool],
) -> tuple[torch.Tensor, torch.Tensor]:
    given = decode_inputs(q, k_cache, v_cache, block_table, seqlens, max_seqlen, sinks, k_scale,
                          v_scale, causal, window, scale, softcap, backend, checked)
    return _pair(run(library_of("q", q), _core.DecodeCall, q, given, return_lse), q)


def _pair(result: Any, q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    if isinstance(result, tuple):
        return result
    return result, q.new_empty((0,), dtype=torch.float32)


@_attention.register_fake
def _(q, k, v, sinks, cu_seqlens_q, cu_seqlens_k, causal, window, scale, softcap, return_lse,
      backend):
    return _fake(q, v, return_lse)


@_decode.register_fake
def _(q, k_cache, v_cache, block_table, seqlens, max_seqlen, sinks, k_scale, v_scale, causal,
      window, scale, softcap, return_lse, backend, checked):
    return _fake(q, v_cache, return_lse)


def _fake(q: torch.Tensor, v: torch.Tensor, return_lse: bool):
    lse = (*q.shape[:-1],) if return_lse else (0,)
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(lse, dtype=torch.float32)


def _refuse(context: Any, *gradients: Any) -> Any:
    raise NotImplementedError(_NO_BACKWARD)


_attention.register_autograd(_refuse)
_decode.register_autograd(_refuse)
