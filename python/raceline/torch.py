# SPDX-License-Identifier: Apache-2.0
"""The operators torch.ops.raceline.attention, .decode and .combine, and the functions that call them.

`raceline.attention`, `raceline.decode` and `raceline.combine` use them while PyTorch compiles, traces, intercepts
or differentiates, so that torch.compile and torch.export see one operator each. There is no backward kernel yet:
gradients raise an error.
"""

from __future__ import annotations

from typing import Any, Optional, Sequence

import torch

from . import _core
from ._call import combine_inputs, decode_inputs, forward_inputs, run
from ._table import kind_of
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
    q_scale: torch.Tensor | None = None, k_scale: torch.Tensor | None = None,
    v_scale: torch.Tensor | None = None, return_lse: bool = False, backend: str | None = None,
    accuracy: str = "accurate", max_seqlen_q: int | None = None, max_seqlen_k: int | None = None,
) -> Any:
    """`raceline.attention` through its operator."""
    out, lse = _attention(
        q, _required("k", k), _required("v", v), _tensor("sinks", sinks),
        _tensor("cu_seqlens_q", cu_seqlens_q), _tensor("cu_seqlens_k", cu_seqlens_k),
        _flag("causal", causal), _window(window), _number("scale", scale),
        _number("softcap", softcap), _flag("return_lse", return_lse), _text("backend", backend),
        _tensor("q_scale", q_scale), _tensor("k_scale", k_scale), _tensor("v_scale", v_scale),
        _text("accuracy", accuracy), _integer("max_seqlen_q", max_seqlen_q),
        _integer("max_seqlen_k", max_seqlen_k),
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
    tree: torch.Tensor | None = None, cu_seqlens_q: torch.Tensor | None = None,
    max_seqlen_q: int | None = None,
) -> Any:
    """`raceline.decode` through its operator."""
    out, lse = _decode(
        q, _required("k_cache", k_cache), _required("v_cache", v_cache),
        _tensor("block_table", block_table), _tensor("seqlens", seqlens),
        _integer("max_seqlen", max_seqlen),
        _tensor("sinks", sinks), _tensor("k_scale", k_scale), _tensor("v_scale", v_scale),
        _flag("causal", causal), _window(window), _number("scale", scale),
        _number("softcap", softcap), _flag("return_lse", return_lse), _text("backend", backend),
        None if checked is None else _flag("checked", checked), _tensor("tree", tree),
        _tensor("cu_seqlens_q", cu_seqlens_q), _integer("max_seqlen_q", max_seqlen_q),
    )
    return (out, lse) if return_lse else out


def combine(
    out_parts: torch.Tensor, lse_parts: torch.Tensor, *, sinks: torch.Tensor | None = None,
    dtype: torch.dtype | None = None, return_lse: bool = False,
) -> Any:
    """`raceline.combine` through its operator."""
    out, lse = _combine(out_parts, _required("lse_parts", lse_parts), _tensor("sinks", sinks),
                        dtype, _flag("return_lse", return_lse))
    return (out, lse) if return_lse else out


def check_dtype(dtype: Any) -> None:
    if dtype is not None and not isinstance(dtype, torch.dtype):
        raise TypeError(f"dtype is {kind_of(dtype)}; it must be None or a torch.dtype")


def nobody_watches(*tensors: Any) -> bool:
    """Whether the operator may be left out: nothing compiles, traces, intercepts or differentiates
    these tensors. An operator that is written in Python costs several times what the rest of a
    short call does."""
    if _is_compiling() or _is_tracing() or _modes() != 0 or _transformation() is not None:
        return False
    gradients = torch.is_grad_enabled()
    for x in tensors:
        if x is None:
            continue
        if type(x) in _PLAIN:
            if x.is_meta or (gradients and x.requires_grad):
                return False
        elif isinstance(x, torch.Tensor):
            return False
    return True


_PLAIN = frozenset((torch.Tensor, torch.nn.Parameter))
_is_compiling = torch.compiler.is_compiling
# What torch.jit.is_tracing asks, where it is still called so: twice as fast.
_is_tracing = getattr(torch._C, "_is_tracing", torch.jit.is_tracing)
# An active mode (fake tensors, tracing), or transformation (vmap). Where this PyTorch does not tell,
# one is taken to be.
_modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 1)
_transformation = getattr(torch._C._functorch, "peek_interpreter_stack", lambda: True)


# What the operators' schemas would refuse without naming the argument.


def _tensor(name: str, x: Any) -> Any:
    if x is None or isinstance(x, torch.Tensor):
        return x
    library_of(name, x)  # refuses what is no tensor
    return torch.from_dlpack(x)


def _required(name: str, x: Any) -> Any:
    if x is None:
        library_of(name, x)  # refuses it by name
    return _tensor(name, x)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} is {kind_of(value)}; it must be True or False")
    return value


def _number(name: str, value: Any) -> Optional[float]:
    if value is None or isinstance(value, float):
        return value
    if isinstance(value, str) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} is {kind_of(value)}; it must be a number")
    return float(value)


def _integer(name: str, value: Any) -> Any:
    if value is not None and not isinstance(value, (int, torch.SymInt)):
        raise TypeError(f"{name} is {kind_of(value)}; it must be an integer")
    return value


def _text(name: str, value: Any) -> Optional[str]:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} is {kind_of(value)}; it must be None or a text")
    return value


def _window(window: Any) -> Optional[list[int]]:
    if window is None:
        return None
    if not isinstance(window, Sequence) or isinstance(window, str):
        raise TypeError(
            f"window is {kind_of(window)}; it must be None or a pair (left, right)"
        )
    if len(window) != 2:
        raise ValueError(f"window has {len(window)} entries; it must be None or a pair")
    for side in window:
        if side is not None and not isinstance(side, (int, torch.SymInt)):
            raise TypeError(f"window holds a {type(side).__name__}; offsets are integers or None")
    return [-1 if side is None else side for side in window]


# The operators. A lse that was not asked for comes back empty: an operator has one signature.


@torch.library.custom_op("raceline::attention", mutates_args=())
def _attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, sinks: Optional[torch.Tensor],
    cu_seqlens_q: Optional[torch.Tensor], cu_seqlens_k: Optional[torch.Tensor], causal: bool,
    window: Optional[Sequence[int]], scale: Optional[float], softcap: Optional[float],
    return_lse: bool, backend: Optional[str], q_scale: Optional[torch.Tensor] = None,
    k_scale: Optional[torch.Tensor] = None, v_scale: Optional[torch.Tensor] = None,
    accuracy: Optional[str] = None, max_seqlen_q: Optional[int] = None,
    max_seqlen_k: Optional[int] = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    library = library_of("q", q)
    given = forward_inputs(library, q, k, v, sinks, cu_seqlens_q, cu_seqlens_k, q_scale, k_scale,
                           v_scale, causal, window, scale, softcap, backend, accuracy,
                           max_seqlen_q, max_seqlen_k)
    return _pair(run(library, _core.ForwardCall, q, given, return_lse), q)


@torch.library.custom_op("raceline::decode", mutates_args=())
def _decode(
    q: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor,
    block_table: Optional[torch.Tensor], seqlens: Optional[torch.Tensor],
    max_seqlen: Optional[int], sinks: Optional[torch.Tensor], k_scale: Optional[torch.Tensor],
    v_scale: Optional[torch.Tensor], causal: bool, window: Optional[Sequence[int]],
    scale: Optional[float], softcap: Optional[float], return_lse: bool, backend: Optional[str],
    checked: Optional[bool], tree: Optional[torch.Tensor] = None,
    cu_seqlens_q: Optional[torch.Tensor] = None, max_seqlen_q: Optional[int] = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    done = _core.decode(return_lse, q, k_cache, v_cache, block_table, seqlens, sinks, k_scale,
                        v_scale, tree, cu_seqlens_q, causal, window, scale, softcap, backend,
                        checked, max_seqlen, max_seqlen_q)
    if done is None:
        given = decode_inputs(q, k_cache, v_cache, block_table, seqlens, max_seqlen, sinks, k_scale,
                              v_scale, causal, window, scale, softcap, backend, checked, tree,
                              cu_seqlens_q, max_seqlen_q)
        done = run(library_of("q", q), _core.DecodeCall, q, given, return_lse)
    return _pair(done, q)


@torch.library.custom_op("raceline::combine", mutates_args=())
def _combine(
    out_parts: torch.Tensor, lse_parts: torch.Tensor, sinks: Optional[torch.Tensor],
    dtype: Optional[torch.dtype], return_lse: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    given = combine_inputs(out_parts, lse_parts, sinks)
    return _pair(run(library_of("out_parts", out_parts), _core.CombineCall, out_parts, given,
                     return_lse, dtype), out_parts)


def _pair(result: Any, q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    if isinstance(result, tuple):
        return result
    return result, q.new_empty((0,), dtype=torch.float32)


@_attention.register_fake
def _(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, sinks: Optional[torch.Tensor],
    cu_seqlens_q: Optional[torch.Tensor], cu_seqlens_k: Optional[torch.Tensor], causal: bool,
    window: Optional[Sequence[int]], scale: Optional[float], softcap: Optional[float],
    return_lse: bool, backend: Optional[str], q_scale: Optional[torch.Tensor] = None,
    k_scale: Optional[torch.Tensor] = None, v_scale: Optional[torch.Tensor] = None,
    accuracy: Optional[str] = None, max_seqlen_q: Optional[int] = None,
    max_seqlen_k: Optional[int] = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    return _fake(return_lse, q=q, k=k, v=v, sinks=sinks, q_scale=q_scale, k_scale=k_scale,
                 v_scale=v_scale)


@_decode.register_fake
def _(
    q: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor,
    block_table: Optional[torch.Tensor], seqlens: Optional[torch.Tensor],
    max_seqlen: Optional[int], sinks: Optional[torch.Tensor], k_scale: Optional[torch.Tensor],
    v_scale: Optional[torch.Tensor], causal: bool, window: Optional[Sequence[int]],
    scale: Optional[float], softcap: Optional[float], return_lse: bool, backend: Optional[str],
    checked: Optional[bool], tree: Optional[torch.Tensor] = None,
    cu_seqlens_q: Optional[torch.Tensor] = None, max_seqlen_q: Optional[int] = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    return _fake(return_lse, q=q, k_cache=k_cache, v_cache=v_cache, sinks=sinks, seqlens=seqlens,
                 block_table=block_table, k_scale=k_scale, v_scale=v_scale, tree=tree,
                 cu_seqlens_q=cu_seqlens_q)


@_combine.register_fake
def _(
    out_parts: torch.Tensor, lse_parts: torch.Tensor, sinks: Optional[torch.Tensor],
    dtype: Optional[torch.dtype], return_lse: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    _on_one_device(out_parts=out_parts, lse_parts=lse_parts, sinks=sinks)
    lse = out_parts.shape[1:-1] if return_lse else (0,)
    out = out_parts.new_empty(out_parts.shape[1:], dtype=dtype or out_parts.dtype)
    return out, out_parts.new_empty(lse, dtype=torch.float32)


def _fake(
    return_lse: bool, **tensors: Optional[torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Shapes alone. One tensor on the meta device is enough to come here, so the others must be
    looked at: an output of memory that nothing wrote must not get out."""
    q, _, v, *_ = tensors.values()
    assert q is not None and v is not None
    _on_one_device(**tensors)
    lse = q.shape[:-1] if return_lse else (0,)
    dtype = torch.bfloat16 if q.dtype == torch.float8_e4m3fn else q.dtype
    out = q.new_empty((*q.shape[:-1], v.shape[-1]), dtype=dtype)
    return out, q.new_empty(lse, dtype=torch.float32)


def _on_one_device(**tensors: Optional[torch.Tensor]) -> None:
    first, given = next(iter(tensors.items()))
    assert given is not None
    for name, x in tensors.items():
        if x is not None and x.device != given.device:
            raise ValueError(
                f"{name} is on {x.device} and {first} on {given.device}; all tensors of a call "
                "must be on one device"
            )


def _refuse(context: Any, *gradients: Any) -> Any:
    raise NotImplementedError(_NO_BACKWARD)


_attention.register_autograd(_refuse)
_decode.register_autograd(_refuse)
_combine.register_autograd(_refuse)
