# SPDX-License-Identifier: Apache-2.0
"""Predicts the time of a call before it runs."""

from __future__ import annotations

import array
import json
from typing import Any, Mapping, Sequence

from . import _core
from ._call import decode_inputs, forward_inputs
from ._table import Shown, kind_of, percent, seconds
from ._tensors import Library, library_of, view


class Prediction(Shown):
    """Predicted time of one call. Times are seconds.

    Attributes:
        seconds: the model's own time. All published errors are errors of this.
        expected_seconds: `seconds`, less what three of four committed errors of this kernel on this
            device agree on; equal to `seconds` if there are fewer than 20.
        uncalibrated_seconds: the model's own time without constants that were fitted to the kernel.
        limiter: the resource that limits it.
        terms: seconds by term of the schedule; they sum to `seconds`.
        resources: seconds that each resource alone would need.
        band: (low, high) seconds from past errors, or None if there are fewer than 20.
        kernel, tile: the ones that would run.
        device: id of the device; `rates_id` names the set of its rates.
        workload: the shape, as a receipt's `workload`.
        bound: of the problem, which no kernel passes: {"seconds", "limiter", "engine",
            "arithmetic_intensity", "ridge", ...}, as a receipt's `bound`.
        rates: where the rate of each resource comes from, by resource.
        too_large: why the call would be refused on the device for want of memory, or "".
        not_compiled: why no build of the kernel is for the device, which is too old, or "".
    """

    __slots__ = ("bound", "rates", "seconds", "expected_seconds", "uncalibrated_seconds", "limiter", "terms", "resources", "band", "kernel", "tile", "device",
                 "device_name", "rates_id", "workload", "too_large", "not_compiled")

    def __init__(self, text: str):
        case = json.loads(text)
        made = case["prediction"]
        self.seconds: float = made["seconds"]
        # A call that takes no time has no other times than that.
        self.expected_seconds: float = made.get("expected_seconds", self.seconds)
        self.uncalibrated_seconds: float = made.get("uncalibrated_seconds", self.seconds)
        self.limiter: str = made["limiter"]
        self.terms: dict[str, float] = made["layer2"]
        self.resources: dict[str, float] = made["layer1"]
        self.band: tuple[float, float] | None = made["band"] and tuple(made["band"])
        self.kernel: str = case["kernel"]
        self.tile: dict[str, int] = case["tile"]
        self.device: str = case["device"]["id"]
        self.device_name: str = case["device"]["name"]
        self.rates_id: str = made["rates_id"]
        self.workload: dict[str, Any] = case["workload"]
        self.bound: dict[str, Any] = case["bound"]
        self.rates: dict[str, str] = case.get("rates", {})  # none of a call without work
        self.too_large: str = case.get("too_large", "")
        self.not_compiled: str = case.get("not_compiled", "")

    def _rows(self) -> list[list[str]]:
        """Terms and resources that matter, the largest first."""
        least = self.seconds / 1000
        rows = []
        for kind, times in (("term", self.terms), ("resource", self.resources)):
            for name, time in sorted(times.items(), key=lambda item: -item[1]):
                if time >= least:
                    share = percent(time / self.seconds) if self.seconds else ""
                    rows.append([kind, name, seconds(time), share])
        return rows

    _HEAD = ("", "", "time", "of total")

    def _title(self) -> str:
        band = f" ({seconds(self.band[0])} to {seconds(self.band[1])})" if self.band else ""
        return (f"{seconds(self.expected_seconds)} expected{band}, {seconds(self.seconds)} by the model, "
                f"on {self.device_name or self.device}, limited by {self.limiter}: {self.kernel}"
                + (f". A call would be refused: {self.too_large}" if self.too_large else "")
                + (f". But {self.not_compiled}" if self.not_compiled else ""))

    def __repr__(self) -> str:
        return (f"<Prediction {seconds(self.expected_seconds)}, limiter {self.limiter}, kernel "
                f"{self.kernel}, device {self.device}>")


_memory: dict[bytes, Prediction] = {}


def predict(
    q: Any,
    k: Any = None,
    v: Any = None,
    *,
    k_cache: Any = None,
    v_cache: Any = None,
    block_table: Any = None,
    seqlens: Any = None,
    max_seqlen: int | None = None,
    causal: bool | None = None,
    window: tuple[int | None, int | None] | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Any = None,
    cu_seqlens_q: Any = None,
    cu_seqlens_k: Any = None,
    q_scale: Any = None,
    k_scale: Any = None,
    v_scale: Any = None,
    tree: Any = None,
    return_lse: bool = False,
    backend: str | None = None,
    accuracy: str | None = None,
    device: str | None = None,
    dtype: Any = None,
    kv_dtype: Any = None,
    max_seqlen_q: int | None = None,
) -> Prediction:
    """Predicts the time of the call that has the same arguments; runs and writes nothing.

    There are three forms.

        predict(q, k, v, causal=True)                    tensors, as for `attention`
        predict(q, k_cache=k, v_cache=v, seqlens=n)      tensors, as for `decode`
        predict((1, 4096, 32, 128), (1, 4096, 8, 128), dtype="bf16", device="h200")
                                                         shapes; k stands for v if v is None
        predict("b=64,h=32/8,q=1,k=8192,d=128", device="h200")   the command line's grammar

    Args:
        q, k, v, k_cache, v_cache: tensors, or their shapes as tuples of int.
        block_table, seqlens, sinks, q_scale, k_scale, v_scale, tree: tensors, or with shapes their
            shape (seqlens: use max_seqlen); sinks=True stands for (heads_q,), tree=True for
            that of q without its last two sizes. The contents of a tree are not read: a random tree is predicted
            instead.
        cu_seqlens_q, cu_seqlens_k: with shapes: sequences of int. A call of `decode` has the first
            alone.
        return_lse: changes nothing; it is accepted so that a call of `attention` can be copied.
        device: an id of `devices()`; "cpu" for this machine's processor; None: where the tensors
            are, and for shapes this machine (its GPU if it has one).
        dtype, kv_dtype: with shapes: of q and of k and v: "fp32", "fp16", "bf16", "e4m3",
            "float32", ..., or a library's dtype. None: bf16, and kv_dtype like dtype.

    The other arguments are those of `attention` and `decode`; None is their default there. With a
    shape in words they are refused, whatever their value.

    It raises what `attention` raises, ValueError for an unknown device, and TypeError for an argument
    that this form of the call does not take.

    If the lengths of a cache are on the host, the prediction uses them. If they are on a GPU, or only
    shapes are given, every length counts as max_seqlen. If cu_seqlens_q of a decode call is on a GPU,
    one sequence counts as max_seqlen_q tokens, and the others have an even share of the rest.

    The first prediction of a shape takes milliseconds. It is cached: the same one then takes
    microseconds, until this user's measured rates change. Source: docs/model.md.
    """
    if not isinstance(return_lse, bool):
        raise TypeError(f"return_lse is {kind_of(return_lse)}; it must be True or False")
    decode_only = {"k_cache": k_cache, "v_cache": v_cache, "block_table": block_table,
                   "seqlens": seqlens, "max_seqlen": max_seqlen, "max_seqlen_q": max_seqlen_q,
                   "tree": None if tree is False else tree}
    forward_only = {"cu_seqlens_k": cu_seqlens_k, "q_scale": q_scale, "accuracy": accuracy}
    shape_only = {"dtype": dtype, "kv_dtype": kv_dtype}
    if isinstance(q, str):
        _refuse(
            "does not go with a shape in words; write it there, as in "
            "'h=32/8,q=1,k=8192,d=128,dtype=fp16,causal'",
            {"k": k, "v": v, "causal": causal, "window": window,
             "scale": scale, "softcap": softcap, "sinks": sinks, "k_scale": k_scale,
             "v_scale": v_scale, "cu_seqlens_q": cu_seqlens_q, **shape_only, **decode_only, **forward_only},
        )
        return _core.predicted_shape(_memory, q, device, backend, Prediction)
    causal = False if causal is None else causal
    decoding = any(x is not None for x in decode_only.values())
    if decoding:
        _refuse("does not go with what `decode` takes; it is an argument of `attention`",
                forward_only)
        _refuse("is given twice; give it as k or k_cache", {} if k is None else {"k_cache": k_cache})
        _refuse("is given twice; give it as v or v_cache", {} if v is None else {"v_cache": v_cache})
        k, v = k if k_cache is None else k_cache, v if v_cache is None else v_cache
    like: Library | _Shapes
    if isinstance(q, (tuple, list)):
        like = _Shapes(dtype, kv_dtype)
    else:
        like = library = library_of("q", q)
        _refuse("does not go with tensors, which have one; it is for shapes", shape_only)
        if device is None and library.stream(q) is None:
            device = "cpu"
    v = k if v is None else v
    if decoding:
        call = _decode_call(like, q, k, v, block_table, seqlens, max_seqlen, sinks, k_scale,
                            v_scale, causal, window, scale, softcap, backend, tree, cu_seqlens_q,
                            max_seqlen_q)
    else:
        call = _forward_call(like, q, k, v, sinks, cu_seqlens_q, cu_seqlens_k, q_scale, k_scale,
                             v_scale, causal, window, scale, softcap, backend,
                             "accurate" if accuracy is None else accuracy)
    return _core.predicted_call(_memory, call, device, Prediction)


def _refuse(why: str, given: Mapping[str, Any]) -> None:
    """TypeError that names the first argument that is there."""
    for name, value in given.items():
        if value is not None:
            raise TypeError(f"{name} {why}")


_DTYPES = {
    "fp32": "fp32", "float32": "fp32", "float": "fp32", "fp16": "fp16", "float16": "fp16",
    "half": "fp16", "bf16": "bf16", "bfloat16": "bf16", "e4m3": "e4m3", "float8_e4m3fn": "e4m3",
}


def _dtype_name(name: str, dtype: Any) -> str:
    text = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", None) or str(dtype)
    known = _DTYPES.get(str(text).rpartition(".")[2])
    if known is None:
        shown = " ".join(ascii(dtype).split())[:60]
        raise TypeError(f"{name} is {shown}; it must be one of {', '.join(_DTYPES)}")
    return known


class _Shapes:
    """Stands in for a library where there are only shapes: descriptions without memory."""

    def __init__(self, dtype: Any, kv_dtype: Any):
        self.dtype = "bf16" if dtype is None else _dtype_name("dtype", dtype)
        self.kv_dtype = self.dtype if kv_dtype is None else _dtype_name("kv_dtype", kv_dtype)

    # An address says that an optional tensor is there; nothing reads it.
    def describe(self, name: str, shape: Any, dtype: str, address: int = 0) -> Any:
        if not isinstance(shape, (tuple, list)):
            raise TypeError(
                f"{name} is {kind_of(shape)}; with q as a shape it must be a tuple of int"
            )
        if any(isinstance(size, bool) for size in shape):
            raise TypeError(f"{name} has a bool among its sizes; they must be int")
        return (address, dtype, tuple(shape), None, False, 0, None)

    def optional(self, name: str, shape: Any, dtype: str) -> Any:
        return None if shape is None else self.describe(name, shape, dtype, 64)


def _sums(name: str, sums: Sequence[int] | Any) -> Any:
    if not isinstance(sums, (tuple, list)):
        return view(name, sums)
    try:
        return array.array("i", sums)
    except TypeError:
        raise TypeError(f"{name} holds something else than int") from None
    except OverflowError:
        raise ValueError(f"{name} holds a number that does not fit into 32 bits") from None


def _forward_call(
    like: Library | _Shapes, q: Any, k: Any, v: Any, sinks: Any, cu_seqlens_q: Any,
    cu_seqlens_k: Any, q_scale: Any, k_scale: Any, v_scale: Any, causal: Any, window: Any,
    scale: Any, softcap: Any, backend: Any, accuracy: Any,
) -> Any:
    if isinstance(like, Library):
        given = forward_inputs(like, q, k, v, sinks, cu_seqlens_q, cu_seqlens_k, q_scale, k_scale,
                               v_scale, causal, window, scale, softcap, backend, accuracy)
        return _core.ForwardCall(given, like.stream(q))
    given = {
        "q": like.describe("q", q, like.dtype), "k": like.describe("k", k, like.kv_dtype),
        "v": like.describe("v", v, like.kv_dtype), "sinks": _sink_shape(like, sinks, q),
        "cu_seqlens_q": _sums("cu_seqlens_q", cu_seqlens_q),
        "cu_seqlens_k": _sums("cu_seqlens_k", cu_seqlens_k),
        "causal": causal, "window": window, "scale": scale, "softcap": softcap, "backend": backend,
        "accuracy": accuracy,
    }
    for name, shape in (("q_scale", q_scale), ("k_scale", k_scale), ("v_scale", v_scale)):
        given[name] = like.optional(name, shape, "fp32")
    return _core.ForwardCall(given, None)


def _decode_call(
    like: Library | _Shapes, q: Any, k: Any, v: Any, block_table: Any, seqlens: Any,
    max_seqlen: Any, sinks: Any, k_scale: Any, v_scale: Any, causal: Any, window: Any, scale: Any,
    softcap: Any, backend: Any, tree: Any, cu_seqlens_q: Any, max_seqlen_q: Any,
) -> Any:
    if isinstance(like, Library):
        given = decode_inputs(q, k, v, block_table, seqlens, max_seqlen, sinks, k_scale, v_scale,
                              causal, window, scale, softcap, backend, False, tree, cu_seqlens_q,
                              max_seqlen_q)
        return _core.DecodeCall(given, like.stream(q))
    if seqlens is not None:
        raise TypeError("seqlens must be None with q as a shape; give max_seqlen")
    given = {
        "q": like.describe("q", q, like.dtype),
        "k_cache": like.describe("k_cache", k, like.kv_dtype),
        "v_cache": like.describe("v_cache", v, like.kv_dtype),
        "sinks": _sink_shape(like, sinks, q),
        "block_table": like.optional("block_table", block_table, "int32"),
        "seqlens": None, "max_seqlen": max_seqlen,
        "cu_seqlens_q": _sums("cu_seqlens_q", cu_seqlens_q), "max_seqlen_q": max_seqlen_q,
        "k_scale": like.optional("k_scale", k_scale, "fp32"),
        "v_scale": like.optional("v_scale", v_scale, "fp32"),
        "causal": causal, "window": window, "scale": scale, "softcap": softcap, "backend": backend,
        "checked": False,
        "tree": like.optional("tree", tuple(q[:-2]) if tree is True else tree or None, "uint32"),
    }
    return _core.DecodeCall(given, None)


def _sink_shape(like: _Shapes, sinks: Any, q: Sequence[int]) -> Any:
    if sinks is False:
        return None
    return like.optional("sinks", tuple(q[-2:-1]) if sinks is True else sinks, "fp32")
