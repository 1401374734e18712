# SPDX-License-Identifier: Apache-2.0
"""The C interface of raceline for scripts: calls, predictions, and rows written by the library."""

import ctypes as c
import json
import sys

FP32, FP16, BF16 = 0, 1, 2


class Tensor(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("data", c.c_void_p), ("dtype", c.c_int32),
                ("rank", c.c_int32), ("shape", c.c_int64 * 4), ("strides", c.c_int64 * 4)]


class Options(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("causal", c.c_int32), ("has_window", c.c_int32),
                ("window_left", c.c_int64), ("window_right", c.c_int64), ("scale", c.c_double),
                ("softcap", c.c_double), ("sinks", c.c_void_p), ("backend", c.c_char_p),
                ("checked", c.c_int32), ("threads", c.c_int32)]


class ForwardArgs(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("q", c.POINTER(Tensor)), ("k", c.POINTER(Tensor)),
                ("v", c.POINTER(Tensor)), ("out", c.POINTER(Tensor)), ("lse", c.POINTER(Tensor)),
                ("options", c.POINTER(Options)), ("cu_seqlens_count", c.c_int64),
                ("cu_seqlens_q", c.c_void_p), ("cu_seqlens_k", c.c_void_p),
                ("device_cu_seqlens_q", c.c_void_p), ("device_cu_seqlens_k", c.c_void_p)]


class Samples(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("seconds", c.POINTER(c.c_double)),
                ("count", c.c_int64), ("seconds_call", c.c_double)]


class Summary(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("samples", c.c_int64), ("median", c.c_double),
                ("low", c.c_double), ("high", c.c_double)]


def sized(kind, **fields):
    """A struct that knows its size, with the fields given and the rest cleared."""
    return kind(struct_size=c.sizeof(kind), **fields)


class Library:
    """libraceline, and one receipt file that is open for appending."""

    def __init__(self, path, receipts):
        self.lib = c.CDLL(path)
        self.lib.rl_last_error.restype = c.c_char_p
        self.lib.rl_receipt_path.restype = c.c_char_p
        words = [word.encode() for word in sys.argv]
        argv = (c.c_char_p * len(words))(*words)
        self.receipt = c.c_void_p()
        self.check(self.lib.rl_receipt_open(receipts.encode() if receipts else None, len(words),
                                            argv, c.byref(self.receipt)))

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.lib.rl_last_error().decode())

    def text(self, result):
        value = c.cast(result, c.c_char_p).value.decode()
        self.lib.rl_free(result)
        return value

    @property
    def receipt_path(self):
        return self.lib.rl_receipt_path(self.receipt).decode()

    def predict_shape(self, shape, device=""):
        out = c.c_void_p()
        self.check(self.lib.rl_predict_shape(shape.encode(), device.encode(), None, c.byref(out)))
        return json.loads(self.text(out))

    def append(self, kind, content):
        self.check(self.lib.rl_receipt_append(self.receipt, kind.encode(),
                                              json.dumps(content).encode(), None))

    def samples(self, seconds):
        values = (c.c_double * len(seconds))(*seconds)
        return sized(Samples, seconds=values, count=len(seconds), seconds_call=0.0)

    def summarize(self, seconds):
        values = (c.c_double * len(seconds))(*seconds)
        summary = sized(Summary)
        self.check(self.lib.rl_summarize(values, c.c_int64(len(seconds)), c.byref(summary)))
        return summary

    def append_comparison(self, about, ours, peer, theirs):
        """Appends the row and returns it: medians, intervals and the ratio are the library's."""
        out = c.c_void_p()
        mine, other = self.samples(ours), self.samples(theirs)
        self.check(self.lib.rl_receipt_append_comparison(
            self.receipt, json.dumps(about).encode(), c.byref(mine), json.dumps(peer).encode(),
            c.byref(other), c.byref(out)))
        return json.loads(self.text(out))

    def close(self):
        self.lib.rl_receipt_close(self.receipt)
        self.receipt = None
