# SPDX-License-Identifier: Apache-2.0
"""The reader of DLPack itself, fed by exporters written out by hand."""

import ctypes as c

import numpy as np
import oracle
import pytest
from raceline import _core


class DLTensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device_type", c.c_int32), ("device_id", c.c_int32),
                ("ndim", c.c_int32), ("code", c.c_uint8), ("bits", c.c_uint8),
                ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64)]


class Managed(c.Structure):
    _fields_ = [("tensor", DLTensor), ("context", c.c_void_p), ("deleter", c.c_void_p)]


class Versioned(c.Structure):
    _fields_ = [("major", c.c_uint32), ("minor", c.c_uint32), ("context", c.c_void_p),
                ("deleter", c.c_void_p), ("flags", c.c_uint64), ("tensor", DLTensor)]


class Exporter:
    """A float32 array as an export with the given oddities."""

    def __init__(self, array, versioned=False, offset=0, strides=False, major=1, lanes=1,
                 device=1, keywords=True):
        self.array, self.keywords = array, keywords
        sizes = (c.c_int64 * array.ndim)(*array.shape)
        steps = (c.c_int64 * array.ndim)(*(s // 4 for s in array.strides)) if strides else None
        tensor = DLTensor(array.ctypes.data - offset, device, 0, array.ndim, 2, 32, lanes, sizes,
                          steps, offset)
        self.name = b"dltensor_versioned" if versioned else b"dltensor"
        self.struct = (Versioned(major, 0, None, None, 1, tensor) if versioned
                       else Managed(tensor, None, None))
        self.asked = []

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        if not self.keywords and keywords:
            raise TypeError("no keyword arguments here")
        new = c.pythonapi.PyCapsule_New
        new.restype, new.argtypes = c.py_object, [c.c_void_p, c.c_char_p, c.c_void_p]
        return new(c.addressof(self.struct), self.name, None)


def call(q, k, stream=None):
    given = dict.fromkeys(("window", "scale", "softcap", "backend", "sinks"))
    prepared = _core.ForwardCall({"q": q, "k": k, "v": k, "causal": False, **given}, stream)
    out = np.empty(prepared.out_shape, np.float32)
    prepared.run(out, None, 0, 0, 0)
    return out


FORMS = [
    {}, {"versioned": True}, {"offset": 64}, {"versioned": True, "offset": 4, "strides": True},
    {"strides": True}, {"keywords": False},
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_forms(normal, form):
    q, k = normal(1, 5, 2, 32), normal(1, 9, 2, 32)
    if form.get("strides"):
        k = np.repeat(normal(1, 9, 2, 32), 2, axis=1)[:, ::2]
    export = Exporter(k, **form)
    oracle.check(call(q, export), oracle.batch(q, k, k)[0])
    assert export.asked[0] == {"max_version": (1, 1)}
    if "keywords" in form:
        assert export.asked[1] == {}


def test_the_stream_is_passed_on(normal):
    export = Exporter(normal(1, 5, 2, 32))
    call(export, export, stream=7)
    assert export.asked[0] == {"max_version": (1, 1), "stream": 7}


REFUSED = [
    ({"versioned": True, "major": 2}, TypeError, "k speaks DLPack 2"),
    ({"lanes": 4}, TypeError, "k has vectors as elements"),
    ({"device": 7}, ValueError, "k is on a device of DLPack type 7"),
    ({"device": 10}, ValueError, "k is on a device of DLPack type 10"),
]


@pytest.mark.parametrize("form, kind, sentence", REFUSED)
def test_refusals(normal, form, kind, sentence):
    with pytest.raises(kind, match=sentence):
        call(normal(1, 5, 2, 32), Exporter(normal(1, 5, 2, 32), **form))


def test_what_is_no_capsule_and_what_the_exporter_raises(normal):
    class Wrong:
        def __dlpack__(self, max_version=None):
            return 3

    class Fails:
        def __dlpack__(self, max_version=None):
            raise LookupError("mine")

    with pytest.raises(TypeError, match="k's __dlpack__ gave no DLPack capsule"):
        call(normal(1, 5, 2, 32), Wrong())
    with pytest.raises(LookupError, match="mine"):
        call(normal(1, 5, 2, 32), Fails())
