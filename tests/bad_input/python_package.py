# SPDX-License-Identifier: Apache-2.0
"""Bad input for the Python package: arguments of every kind in the place of right ones."""

from __future__ import annotations

import pathlib
import sys
from typing import Any

import numpy as np
from hypothesis import strategies as st

import inputs
from answer_rules import check_sentence, in_a_child, require
from answer_values import check_time

#: What docs/guides/python.md and the docstrings promise. UnicodeError is a ValueError, but no sentence.
KINDS = {"TypeError", "ValueError", "NotImplementedError", "OSError", "MemoryError"}


def prepare(build: pathlib.Path, scratch: pathlib.Path) -> None:
    sys.path.insert(0, str(build / "python"))
    import raceline  # noqa: F401  (loaded once, called in children alone)


class Odd:
    """Says that it is an exporter, and raises what nobody expects."""

    def __dlpack__(self, **_: Any) -> Any:
        raise RuntimeError("odd")

    def __dlpack_device__(self) -> Any:
        return (1, 0)

    def __index__(self) -> int:
        raise RuntimeError("odd")

    def __repr__(self) -> str:
        return "Odd()"


SHAPE = (1, 5, 2, 8)
SCALARS: list[Any] = [None, True, False, 0, 1, -1, 2**31, 2**63, 2**70, 10**400, 1.5, -1.5, 1e300,
                      float("nan"), float("inf"), 1j, "", "1", "fp32", "cpu", "h200", "accurate", "fast",
                      "x\0y", "\ud800", "é" * 50, b"cpu", (), (1,), (1, 2), (None, None), (-1, 2**70),
                      (1.5, 2), [1, 5, 2, 8], {"a": 1}, set(), object, len, ...]
#: By name, so that what failed can be read and typed.
ARRAYS: dict[str, str] = {
    "float32": "np.zeros((1, 5, 2, 8), 'f4')", "float16": "np.zeros((1, 5, 2, 8), 'f2')",
    "float64": "np.zeros((1, 5, 2, 8))", "int32": "np.zeros((1, 5, 2, 8), 'i4')",
    "bool": "np.zeros((1, 5, 2, 8), '?')", "swapped": "np.zeros((1, 5, 2, 8), '>f4')",
    "text": "np.full((1, 5, 2, 8), 'x')", "objects": "np.full((1, 5, 2, 8), None)",
    "dates": "np.zeros((1, 5, 2, 8), 'M8[s]')", "record": "np.zeros((1, 5, 2, 8), 'f4,f4')",
    "complex": "np.zeros((1, 5, 2, 8), 'c8')", "long double": "np.zeros((1, 5, 2, 8), 'g')",
    "empty": "np.zeros((1, 0, 2, 8), 'f4')", "no batch": "np.zeros((0, 5, 2, 8), 'f4')",
    "scalar": "np.zeros((), 'f4')", "packed": "np.zeros((5, 2, 8), 'f4')",
    "deep": "np.zeros((1,) * 9, 'f4')", "no head dim": "np.zeros((1, 5, 2, 0), 'f4')",
    "odd heads": "np.zeros((1, 5, 3, 8), 'f4')", "backwards": "np.zeros((1, 5, 2, 8), 'f4')[:, ::-1]",
    "strided": "np.zeros((1, 5, 2, 16), 'f4')[..., ::2]", "one": "np.float32(1)",
    "nan": "np.full((1, 5, 2, 8), np.nan, 'f4')", "list": "[[[[1.0] * 8] * 2] * 5]",
    "lengths": "np.array([5], 'i4')", "long lengths": "np.array([99], 'i4')",
    "sums": "np.array([0, 5], 'i4')", "bad sums": "np.array([0, -5, 7], 'i4')",
    "sums of 64 bits": "np.array([0, 5])", "table": "np.zeros((1, 1), 'i4')",
    "wild table": "np.full((1, 1), 7, 'i4')", "sinks": "np.zeros(2, 'f4')", "masked":
    "np.ma.masked_all((1, 5, 2, 8), 'f4')", "unreadable": "Odd()", "buffer": "bytearray(320)",
}
SHAPES = ["(1, 5, 2, 8)", "(1, 2**31, 2, 8)", "(2**70, 5, 2, 8)", "(1.0, 5, 2, 8)", "(None, 5, 2, 8)",
          "()", "(1,)", "(1, 5)", "('a', 5, 2, 8)", "(1, 5, 2, 8, 1)", "(-1, 5, 2, 8)", "[1, 5, 2, 8]",
          "(1, 5, 2, 1000)", "(1000000, 1, 1, 1)", "(Odd(), 5, 2, 8)", "(5, 2, 8)", "(np.int64(1), 5, 2, 8)"]
ATTENTION = ["causal", "window", "scale", "softcap", "sinks", "cu_seqlens_q", "cu_seqlens_k", "q_scale",
             "k_scale", "v_scale", "return_lse", "backend", "accuracy"]
DECODE = ["block_table", "seqlens", "max_seqlen", "causal", "window", "scale", "softcap", "sinks",
          "k_scale", "v_scale", "return_lse", "backend", "checked", "cu_seqlens_q", "max_seqlen_q"]
PREDICT = sorted({*ATTENTION, *DECODE, "k_cache", "v_cache", "device", "dtype", "kv_dtype"} - {"checked"})
POINT = ["flops", "bytes", "seconds", "engine", "memory", "device"]

literals = st.one_of(
    st.sampled_from(SCALARS).map(lambda value: getattr(value, "__name__", None) or repr(value)),
    st.sampled_from(sorted(ARRAYS.values())), st.sampled_from(SHAPES),
    inputs.texts.map(ascii), inputs.shapes().map(ascii),
)
good = st.sampled_from([ARRAYS["float32"]] * 6 + [ARRAYS["packed"], ARRAYS["empty"]])


@st.composite
def calls(draw: st.DrawFn) -> str:
    """A call as one would type it: three tensors that fit, and some arguments that may not."""
    function = draw(st.sampled_from(["attention", "decode", "predict", "predict", "measure", "point", "bound"]))
    if function == "measure":  # never one that would measure
        device = draw(literals.filter(lambda text: text not in ("None", "'cpu'", "''")))
        return f"raceline.measure({device}, threads={draw(literals)}, quick={draw(literals)})"
    if function == "bound":
        shape = draw(st.one_of(inputs.shapes().map(ascii), literals))
        return f"raceline.bound({shape}, device={draw(literals)})"
    if function == "point":
        given = draw(st.lists(st.sampled_from(POINT), max_size=4, unique=True))
        return f"raceline.point({', '.join(f'{name}={draw(literals)}' for name in given)})"
    names = {"attention": ATTENTION, "decode": DECODE, "predict": PREDICT}[function]
    first = draw(good if function != "predict" else st.one_of(good, st.sampled_from(SHAPES),
                                                              inputs.shapes().map(ascii)))
    words = [first] * (1 if first.startswith(("'", '"')) else 3)
    if draw(st.integers(0, 2)) == 0:
        words[draw(st.integers(0, len(words) - 1))] = draw(literals)
    for name in draw(st.lists(st.sampled_from(names), max_size=3, unique=True)):
        words.append(f"{name}={draw(literals)}")
    return f"raceline.{function}({', '.join(words)})"


def answer(call: str) -> list[Any]:
    """[kind of exception or "", sentence, times of a prediction]."""
    import raceline

    try:
        result = eval(call, {"raceline": raceline, "np": np, "Odd": Odd, "nan": np.nan, "inf": np.inf})
        str(result)
        if not call.startswith("raceline.predict("):
            return ["", "", []]
        if not result.terms:  # nothing to compute, where nobody has measured what an empty call takes
            return ["", "" if result.seconds == 0 else f"{result.seconds} s without a term", []]
        return ["", "", [result.seconds, result.expected_seconds, result.uncalibrated_seconds, *(result.band or ())]]
    except Exception as error:
        return [type(error).__name__, str(error), []]


drawn = calls()


def check(call: str) -> None:
    kind, sentence, times = in_a_child(lambda: answer(call), call)
    for seconds in times:
        check_time(seconds, f"{call}: a time")
    require(kind or not sentence, f"{call}: {sentence}")
    if kind and not (kind == "RuntimeError" and sentence == "odd"):  # the caller's own passes through
        require(kind in KINDS, f"{call}: raises {kind}: {sentence}")
        check_sentence(sentence, call)
