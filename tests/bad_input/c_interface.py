# SPDX-License-Identifier: Apache-2.0
"""Bad input for libraceline.so: structs, sizes, null pointers, texts. What a caller may not know, memory
of another size than he says, stays right. tests/fuzz/c_abi_fuzz.cpp does more under sanitizers."""

from __future__ import annotations

import ctypes as c
import json
import pathlib
from typing import Any

from hypothesis import strategies as st

import inputs
from answer_rules import check_sentence, in_a_child, require
from answer_values import check_row

OK, INTERNAL = 0, 6
ARENA = 1 << 20  #: bytes behind each tensor

library: Any = None
folder = pathlib.Path()
texts_of_files: list[bytes] = [b"{}", b'{"device": {}}', b"[]", b"null", b"{", b'{"a": NaN}', b"\xff"]


def prepare(build: pathlib.Path, scratch: pathlib.Path) -> None:
    global library, folder
    folder = scratch / "c_interface"
    folder.mkdir()
    library = c.CDLL(str(build / "libraceline.so"))
    library.rl_last_error.restype = c.c_char_p
    library.rl_receipt_path.restype = c.c_char_p
    library.rl_dtype_name.restype = c.c_char_p


class Tensor(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("data", c.c_void_p), ("dtype", c.c_int32),
                ("rank", c.c_int32), ("shape", c.c_int64 * 4), ("strides", c.c_int64 * 4)]


class Options(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("causal", c.c_int32), ("has_window", c.c_int32),
                ("window_left", c.c_int64), ("window_right", c.c_int64), ("scale", c.c_double),
                ("softcap", c.c_double), ("sinks", c.c_void_p), ("backend", c.c_char_p),
                ("checked", c.c_int32), ("threads", c.c_int32), ("accuracy", c.c_int32)]


TENSORS = [(name, c.POINTER(Tensor)) for name in ("q", "k", "v", "out", "lse")]


class Forward(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), *TENSORS, ("options", c.POINTER(Options)),
                ("cu_seqlens_count", c.c_int64), ("cu_seqlens_q", c.c_void_p),
                ("cu_seqlens_k", c.c_void_p), ("device_cu_seqlens_q", c.c_void_p),
                ("device_cu_seqlens_k", c.c_void_p), ("q_scale", c.c_void_p), ("k_scale", c.c_void_p),
                ("v_scale", c.c_void_p)]


class Decode(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), *TENSORS, ("options", c.POINTER(Options)),
                ("seqlens_k", c.c_void_p), ("max_seqlen_k", c.c_int64), ("block_table", c.c_void_p),
                ("block_table_stride", c.c_int64), ("k_scale", c.c_void_p), ("v_scale", c.c_void_p)]


class Case(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("shape", c.c_char_p), ("device", c.c_char_p),
                ("kernel", c.c_char_p), ("launch_path", c.c_char_p), ("threads", c.c_int32)]


class WorkPoint(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("flops", c.c_double), ("bytes", c.c_double),
                ("seconds", c.c_double), ("engine", c.c_char_p), ("memory", c.c_char_p)]


class Summary(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("samples", c.c_int64), ("median", c.c_double),
                ("low", c.c_double), ("high", c.c_double)]


class Contender(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("name", c.c_char_p), ("enqueue", c.c_void_p),
                ("call", c.c_void_p), ("context", c.c_void_p), ("calls", c.c_int32)]


sizes = st.sampled_from([-(2**63), -1, 0, 1, 2, 3, 5, 8, 2**31 - 1, 2**31, 2**40, 2**63 - 1])
small = st.sampled_from([-(2**31), -1, 0, 1, 2, 4, 5, 2**31 - 1])
reals = st.sampled_from([0.0, 1.0, -1.0, 1e300, 5e-324, float("nan"), float("inf")])
words = st.one_of(
    st.none(), inputs.shapes().map(str.encode), inputs.texts.map(str.encode),
    st.sampled_from([b"\xff\xfe", b"cpu", b"h200", b"cpu_flash", b"quickstart", b"random:", b"fp32",
                     b"stream", b"A100", b"prediction", b"device"] + texts_of_files),
)
#: A struct as it is, or one that is off in one member.
off = st.one_of(st.none(), st.tuples(st.integers(0, 20), sizes, reals, small))


def spoiled(struct: Any, change: Any) -> Any:
    """One member of a struct replaced by a number of its kind; pointers become null."""
    struct.struct_size = c.sizeof(struct)
    if change is not None:
        at, size, real, number = change
        name, kind = struct._fields_[at % len(struct._fields_)]
        if kind is c.c_size_t:
            struct.struct_size = size & (2**64 - 1)
        elif kind is c.c_double:
            setattr(struct, name, real)
        elif kind in (c.c_int32, c.c_int64):
            setattr(struct, name, number if kind is c.c_int32 else size)
        elif issubclass(kind, c.Array):
            getattr(struct, name)[at % 4] = size
        else:
            setattr(struct, name, None)
    return struct


def fits(tensor: Tensor) -> bool:
    """Whether all elements lie in the arena."""
    if not 1 <= tensor.rank <= 4 or tensor.struct_size != c.sizeof(Tensor):
        return False
    reach = sum((tensor.shape[i] - 1) * tensor.strides[i] for i in range(tensor.rank))
    inside = all(tensor.shape[i] >= 0 and tensor.strides[i] >= 0 for i in range(tensor.rank))
    return inside and 4 * (reach + 1) <= ARENA


def tensor_of(change: Any, shape: tuple[int, ...], keep: list[Any]) -> Tensor:
    memory = c.create_string_buffer(ARENA)
    keep.append(memory)
    tensor = Tensor(0, c.addressof(memory), 0, 4, shape, (1 << 14, 1 << 7, 1 << 4, 1))
    spoiled(tensor, change)
    if not fits(tensor):
        tensor.data = None
    return tensor


def call_of(one: dict[str, Any], keep: list[Any]) -> tuple[str, list[Any]]:
    """Name and arguments of a C function; `keep` holds the memory that they point to."""
    text, other, third = one["texts"]
    json = c.c_char_p()
    name = one["function"]
    if name in ("rl_predict_shape", "rl_suite"):
        given_texts = [text, other, third] if name == "rl_predict_shape" else [text, other]
        return name, [*given_texts, c.byref(json)]
    if name == "rl_predict_bound":
        return name, [text, other, c.byref(json)]
    if name == "rl_predict_case":
        case = spoiled(Case(0, text, other, third, None, 0), one["struct"])
        return name, [c.byref(case), c.byref(json)]
    if name == "rl_point":
        point = spoiled(WorkPoint(0, one["real"], 1e9, 1.0, text, third), one["struct"])
        return name, [c.byref(point), other, c.byref(json)]
    if name == "rl_summarize":
        samples = (c.c_double * 5)(1.0, one["real"], 2.0, 3.0, 1.5)
        summary = spoiled(Summary(), one["struct"])
        return name, [samples, c.c_int64(min(one["size"], 5)), c.byref(summary)]
    if name == "rl_time_contenders":  # every one lacks its function, so that nothing is timed
        contender = spoiled(Contender(0, text, None, None, None, 1), one["struct"])
        count = min(one["size"], 1)
        return name, [c.byref(contender), c.c_int64(count), 0, None, None]
    options = spoiled(Options(checked=1), one["options"])
    options.backend = one["texts"][0] if one["named"] else None
    shapes = [(1, 5, 2, 8)] * 4 + [(1, 5, 2, 0)]
    tensors = [tensor_of(change, shape, keep) for change, shape in zip(one["tensors"], shapes)]
    kind = Decode if "decode" in name else Forward
    args = kind(0, *(c.pointer(tensor) for tensor in tensors[:4]), None, c.pointer(options))
    if kind is Decode:
        args.max_seqlen_k = 5
    spoiled(args, one["struct"])
    if kind is Forward and args.cu_seqlens_count > 0:
        args.cu_seqlens_count = 0  # no prefix sums are there to be read
    keep += [options, tensors, args]
    if name == "rl_check_forward":
        return name, [c.byref(args), other, c.c_uint64(1), c.byref(json)]
    if "predict" in name:
        return name, [c.byref(args), other, c.byref(json)]
    if "workspace" in name:
        return name, [c.byref(args), one["place"], c.byref(c.c_size_t())]
    scratch = c.create_string_buffer(ARENA + 64)
    keep.append(scratch)
    return name, [c.byref(args), one["place"], None,
                  c.c_void_p((c.addressof(scratch) + 63) // 64 * 64), c.c_size_t(ARENA)]


def answer(one: dict[str, Any]) -> list[Any]:
    """[status, sentence, predicted row or ""] of the call; rows go to a receipt in the scratch folder."""
    keep: list[Any] = []
    row = ""
    if one["function"] == "rl_receipt_append":
        receipt = c.c_void_p()
        path = bytes(folder / "r.jsonl")
        require(library.rl_receipt_open(path, 0, None, c.byref(receipt)) == OK, "no receipt file")
        status = library.rl_receipt_append(receipt, one["texts"][0], one["texts"][1], None)
    else:
        name, arguments = call_of(one, keep)
        status = getattr(library, name)(*arguments)
        if "predict" in name and status == OK:
            row = arguments[-1]._obj.value.decode()
    return [status, library.rl_last_error().decode("utf-8", "surrogateescape"), row]


FUNCTIONS = ["rl_forward", "rl_decode", "rl_forward_workspace", "rl_decode_workspace",
             "rl_predict_forward", "rl_predict_decode", "rl_check_forward", "rl_predict_shape",
             "rl_predict_bound", "rl_predict_case", "rl_point", "rl_suite", "rl_summarize", "rl_time_contenders", "rl_receipt_append"]


drawn = st.fixed_dictionaries({
    "function": st.sampled_from(FUNCTIONS), "texts": st.tuples(words, words, words), "struct": off,
    "options": off, "tensors": st.tuples(off, off, off, off, off), "named": st.booleans(),
    "place": st.sampled_from([0, 0, 0, 1, -1, 2]), "size": sizes, "real": reals,
})


def check(one: dict[str, Any]) -> None:
    about = f"{one['function']} with {one}"
    status, sentence, row = in_a_child(lambda: answer(one), about)
    require(OK <= status < INTERNAL, f"{about}: status {status}: {sentence}")
    require((status == OK) == (sentence == ""), f"{about}: status {status} with {sentence!r}")
    if sentence:
        check_sentence(sentence, about)
    if row:
        check_row(json.loads(row), about)
