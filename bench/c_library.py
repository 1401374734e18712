# SPDX-License-Identifier: Apache-2.0
"""The C interface of raceline for scripts: calls, predictions, and rows written by the library."""

import ctypes as c
import json
import sys
from dataclasses import dataclass

DTYPES = {"fp32": 0, "fp16": 1, "bf16": 2, "e4m3": 3}
ACCURACIES = {"accurate": 0, "fast": 1}
CPU, CUDA = 0, 1
WORKSPACE_ALIGNMENT = 64


class Tensor(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("data", c.c_void_p), ("dtype", c.c_int32),
                ("rank", c.c_int32), ("shape", c.c_int64 * 4), ("strides", c.c_int64 * 4)]


class Options(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("causal", c.c_int32), ("has_window", c.c_int32),
                ("window_left", c.c_int64), ("window_right", c.c_int64), ("scale", c.c_double),
                ("softcap", c.c_double), ("sinks", c.c_void_p), ("backend", c.c_char_p),
                ("checked", c.c_int32), ("threads", c.c_int32), ("accuracy", c.c_int32)]


class ForwardArgs(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("q", c.POINTER(Tensor)), ("k", c.POINTER(Tensor)),
                ("v", c.POINTER(Tensor)), ("out", c.POINTER(Tensor)), ("lse", c.POINTER(Tensor)),
                ("options", c.POINTER(Options)), ("cu_seqlens_count", c.c_int64),
                ("cu_seqlens_q", c.c_void_p), ("cu_seqlens_k", c.c_void_p),
                ("device_cu_seqlens_q", c.c_void_p), ("device_cu_seqlens_k", c.c_void_p)]


class DecodeArgs(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("q", c.POINTER(Tensor)),
                ("k_cache", c.POINTER(Tensor)), ("v_cache", c.POINTER(Tensor)),
                ("out", c.POINTER(Tensor)), ("lse", c.POINTER(Tensor)),
                ("options", c.POINTER(Options)), ("seqlens_k", c.c_void_p),
                ("max_seqlen_k", c.c_int64), ("block_table", c.c_void_p),
                ("block_table_stride", c.c_int64), ("k_scale", c.c_void_p),
                ("v_scale", c.c_void_p), ("tree", c.c_void_p),
                ("k_token_scale", c.POINTER(Tensor)), ("v_token_scale", c.POINTER(Tensor)),
                ("cu_seqlens_count", c.c_int64), ("cu_seqlens_q", c.c_void_p),
                ("max_seqlen_q", c.c_int64)]


# What a contender runs: puts work on a stream, returns 0.
ENQUEUE = c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_void_p)


class CContender(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("name", c.c_char_p), ("enqueue", ENQUEUE),
                ("call", ENQUEUE), ("context", c.c_void_p), ("calls", c.c_int32)]


class TimingOptions(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("half_width", c.c_double),
                ("min_samples", c.c_int32), ("max_samples", c.c_int32),
                ("min_seconds", c.c_double), ("max_seconds", c.c_double),
                ("ramp_seconds", c.c_double), ("regime", c.c_char_p), ("separate", c.c_int32),
                ("order_seed", c.c_uint64)]


class Timing(c.Structure):
    """What one contender's samples came to; times are of one call, in seconds."""

    _fields_ = [("struct_size", c.c_size_t), ("seconds_median", c.c_double),
                ("seconds_low", c.c_double), ("seconds_high", c.c_double),
                ("seconds_call", c.c_double), ("sm_clock_hz", c.c_double), ("power_w", c.c_double),
                ("samples", c.c_int32), ("disturbed", c.c_int32), ("unsettled", c.c_int32),
                ("settled", c.c_int32), ("throttled", c.c_int32), ("disturbance", c.c_char * 256)]
    launch_path = ""  # graph, events, parallel: how a sample was taken


class Samples(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("seconds", c.POINTER(c.c_double)),
                ("count", c.c_int64), ("seconds_call", c.c_double), ("sm_clock_hz", c.c_double),
                ("power_w", c.c_double), ("settled", c.c_int32), ("throttled", c.c_int32),
                ("timing", c.POINTER(Timing))]


class Case(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("shape", c.c_char_p), ("device", c.c_char_p),
                ("kernel", c.c_char_p), ("launch_path", c.c_char_p), ("threads", c.c_int32)]


def sized(kind, **fields):
    """A struct that knows its size, with the fields given and the rest cleared."""
    return kind(struct_size=c.sizeof(kind), **fields)


@dataclass
class Contender:
    """Something that is timed. `enqueue` puts one sample, that is `calls` calls, on the stream it is
    given as an address; `call` puts one, of which the host's time is taken."""

    name: str
    enqueue: object
    calls: int = 1
    call: object = None


def view(data, dtype, shape, strides):
    """A tensor of up to four dimensions at an address; strides in elements."""
    rank = len(shape)
    return sized(Tensor, data=data, dtype=DTYPES[dtype], rank=rank,
                 shape=(c.c_int64 * 4)(*shape), strides=(c.c_int64 * 4)(*strides))


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

    def json(self, function, *arguments):
        """Calls a function whose last argument takes a JSON text, and reads that."""
        out = c.c_void_p()
        self.check(function(*arguments, c.byref(out)))
        return json.loads(self.text(out))

    def predict(self, shape, device="", kernel="", launch_path="", threads=0):
        """The predicted case, in the form of a receipt row."""
        which = sized(Case, shape=shape.encode(), device=device.encode(), kernel=kernel.encode(),
                      launch_path=launch_path.encode(), threads=threads)
        return self.json(self.lib.rl_predict_case, c.byref(which))

    def suite(self, name, dtype=""):
        """Texts of a suite's shapes."""
        return self.json(self.lib.rl_suite, name.encode(), dtype.encode())

    def forward_args(self, q, k, v, out, options):
        """A call over views; keep the result alive, it holds what the pointers point to."""
        return sized(ForwardArgs, q=c.pointer(q), k=c.pointer(k), v=c.pointer(v),
                     out=c.pointer(out), options=c.pointer(options))

    def options(self, causal, kernel="", threads=0, accuracy="accurate"):
        return sized(Options, causal=int(causal), threads=threads,
                     backend=kernel.encode() if kernel else None,
                     accuracy=ACCURACIES[accuracy])

    def decode_args(self, q, k_cache, v_cache, out, options, seqlen, seqlens=None, table=None,
                    pages=0):
        """A decode call over views; `seqlens` and `table` are addresses on the device of the call
        or None, `pages` the entries of one row of the table."""
        return sized(DecodeArgs, q=c.pointer(q), k_cache=c.pointer(k_cache),
                     v_cache=c.pointer(v_cache), out=c.pointer(out), options=c.pointer(options),
                     max_seqlen_k=seqlen, seqlens_k=seqlens, block_table=table,
                     block_table_stride=pages)

    def attention(self, args):
        """(workspace, call): the two functions that take such arguments."""
        if isinstance(args, DecodeArgs):
            return self.lib.rl_decode_workspace, self.lib.rl_decode
        return self.lib.rl_forward_workspace, self.lib.rl_forward

    def workspace(self, args, place):
        """Bytes of workspace that a call needs."""
        size = c.c_size_t()
        self.check(self.attention(args)[0](c.byref(args), place, c.byref(size)))
        return size.value

    def check_forward(self, args, kernel, seed):
        """The gate's verdict on an output in host memory, as a receipt holds it."""
        return self.json(self.lib.rl_check_forward, c.byref(args), kernel.encode(),
                         c.c_uint64(seed))

    def time_contenders(self, contenders, place, **options):
        """{name: Timing} of contenders timed beside each other; options are members of
        TimingOptions. Raises RuntimeError with the contender's name if one of them raises."""
        raised = []

        def guarded(function):
            if function is None:
                return ENQUEUE()

            def run(context, stream):
                try:
                    function(stream)
                    return 0
                except BaseException as error:  # noqa: BLE001 - none may pass through C
                    raised.append(error)
                    return 1
            return ENQUEUE(run)
        given = (CContender * len(contenders))(*[
            sized(CContender, name=one.name.encode(), enqueue=guarded(one.enqueue),
                  call=guarded(one.call), calls=one.calls) for one in contenders])
        results = (Timing * len(contenders))(*[sized(Timing) for _ in contenders])
        if "regime" in options:
            options["regime"] = options["regime"].encode()
        known = sized(TimingOptions, **options)
        status = self.lib.rl_time_contenders(given, c.c_int64(len(contenders)), place,
                                             c.byref(known), results)
        if raised and not isinstance(raised[0], Exception):
            raise raised[0]  # Ctrl-C
        if raised:
            sentence = self.lib.rl_last_error().decode()
            raise RuntimeError(f"{sentence}: {type(raised[0]).__name__}: {raised[0]}")
        self.check(status)
        return {one.name: timing for one, timing in zip(contenders, results)}

    def append(self, kind, content):
        """Appends a row and returns it as written."""
        return self.json(self.lib.rl_receipt_append, self.receipt, kind.encode(),
                         json.dumps(content).encode())

    def append_comparison(self, about, ours, peer, theirs):
        """Appends the row of two timings and returns it; the ratio is the library's."""
        mine, other = (sized(Samples, timing=c.pointer(side)) for side in (ours, theirs))
        return self.json(self.lib.rl_receipt_append_comparison, self.receipt,
                         json.dumps(about).encode(), c.byref(mine), json.dumps(peer).encode(),
                         c.byref(other))

    def close(self):
        self.lib.rl_receipt_close(self.receipt)
        self.receipt = None
