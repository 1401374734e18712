# SPDX-License-Identifier: Apache-2.0
"""What may come in: strides, empty and read-only arrays; and what may not."""

import mmap

import numpy as np
import oracle
import pytest
import raceline


class OnlyDLPack:
    """An exporter of an older DLPack, without versions, and of no library."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


FORMS = {
    "contiguous": lambda x: x,
    "heads first": lambda x: np.ascontiguousarray(x.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3),
    "fortran order": np.asfortranarray,
    "every second": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "wider rows": lambda x: np.concatenate([x, x], axis=-1)[..., : x.shape[-1]],
    "last dimension strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "reversed": lambda x: np.ascontiguousarray(x[:, ::-1])[:, ::-1],
    "broadcast heads": lambda x: np.broadcast_to(x[:, :, :1], x.shape),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_strides(normal, form):
    q, k, v = (form(normal(2, 21, 4, 32)) for _ in range(3))
    oracle.check(raceline.attention(q, k, v), oracle.batch(q, k, v)[0])
    oracle.check(raceline.decode(q[:, :1], k, v), oracle.cached(q[:, :1], k, v, [21, 21])[0])


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_inputs_stay_as_they_are(normal, form):
    x = form(normal(2, 21, 4, 32))
    before = x.copy()
    raceline.attention(x, x, x)
    assert np.array_equal(x, before)


def test_addressable_inputs_are_not_copied(normal):
    """A batch that repeats one sequence by stride 0 would need a terabyte as a copy."""
    k = normal(1, 64, 1, 64)
    huge = np.broadcast_to(k, (1 << 26, *k.shape[1:]))
    assert huge.nbytes >= 1 << 40
    q = np.broadcast_to(normal(1, 1, 1, 64), (1 << 26, 1, 1, 64))
    with pytest.raises(ValueError, match="scale"):  # read, described and checked, and then refused
        raceline.attention(q, huge, huge, scale=-1.0)
    out = raceline.attention(q[:3], huge[:3], huge[:3])
    oracle.check(out, oracle.batch(q[:3], huge[:3], huge[:3])[0])


@pytest.mark.parametrize("make", ["flag", "mmap", "bytes"])
def test_read_only(normal, make):
    x = normal(1, 16, 2, 32)
    if make == "flag":
        read_only = x.copy()
        read_only.flags.writeable = False
    elif make == "bytes":
        read_only = np.frombuffer(x.tobytes(), np.float32).reshape(x.shape)
    else:
        memory = mmap.mmap(-1, x.nbytes)
        memory.write(x.tobytes())
        read_only = np.frombuffer(memoryview(memory).toreadonly(), np.float32).reshape(x.shape)
    assert not read_only.flags.writeable
    out = raceline.attention(read_only, read_only, read_only)
    assert out.flags.writeable
    oracle.check(out, oracle.batch(x, x, x)[0])


@pytest.mark.parametrize("batch, seqlen_q, seqlen_k", [(0, 5, 7), (2, 0, 7), (2, 5, 0), (0, 0, 0)])
def test_zero_lengths(normal, batch, seqlen_q, seqlen_k):
    q, k = normal(batch, seqlen_q, 2, 32), normal(batch, seqlen_k, 2, 32)
    out, lse = raceline.attention(q, k, k, return_lse=True)
    assert out.shape == q.shape and lse.shape == q.shape[:-1]
    assert (out == 0).all() and np.isneginf(lse).all()


def test_an_empty_ragged_batch(normal):
    none = np.zeros(1, np.int32)
    q = normal(0, 2, 32)
    out = raceline.attention(q, q, q, cu_seqlens_q=none, cu_seqlens_k=none)
    assert out.shape == (0, 2, 32)


def test_other_exporters_may_stand_beside_q(normal):
    q, k = normal(1, 8, 2, 32), normal(1, 8, 2, 32)
    with pytest.raises(TypeError, match="k is an OnlyDLPack"):
        raceline.attention(q, OnlyDLPack(k), k)


x = np.zeros((1, 8, 2, 32), np.float32)
REFUSED = [
    ("q", TypeError, lambda: raceline.attention(x.tolist(), x, x)),
    ("q", TypeError, lambda: raceline.attention(None, x, x)),
    ("k", TypeError, lambda: raceline.attention(x, "k", x)),
    ("v", TypeError, lambda: raceline.attention(x, x, 3.0)),
    ("q", TypeError, lambda: raceline.attention(x.astype(int), x, x)),
    ("q", TypeError, lambda: raceline.attention(x.astype(np.float64), x, x)),
    ("q", TypeError, lambda: raceline.attention(x.astype(complex), x, x)),
    ("q", TypeError, lambda: raceline.attention(x.astype(">f4"), x, x)),
    ("q", TypeError, lambda: raceline.attention(x.astype(object), x, x)),
    ("v", TypeError, lambda: raceline.attention(x, x, None)),
    ("k", TypeError, lambda: raceline.attention(x, None, x)),
    ("v_cache", TypeError, lambda: raceline.decode(x, x, None)),
    ("k", ValueError, lambda: raceline.attention(x, x.astype(np.float16), x)),
    ("v", ValueError, lambda: raceline.attention(x, x, x.astype(np.float16))),
    ("q", ValueError, lambda: raceline.attention(x[0], x, x)),
    ("q", ValueError, lambda: raceline.attention(np.float32(1)[None], x, x)),
    ("q", ValueError, lambda: raceline.attention(np.zeros((), np.float32), x, x)),
    ("v", ValueError, lambda: raceline.attention(x, x, x[:, :5])),
    ("k", ValueError, lambda: raceline.attention(x, x[..., :16], x)),
    ("heads", ValueError, lambda: raceline.attention(x, x.repeat(2, 2), x.repeat(2, 2))),
    ("causal", TypeError, lambda: raceline.attention(x, x, x, causal="yes")),
    ("window", ValueError, lambda: raceline.attention(x, x, x, window=(1, 2, 3))),
    ("window", TypeError, lambda: raceline.attention(x, x, x, window=4)),
    ("window", TypeError, lambda: raceline.attention(x, x, x, window=(1.5, 2))),
    ("scale", ValueError, lambda: raceline.attention(x, x, x, scale=-1.0)),
    ("scale", ValueError, lambda: raceline.attention(x, x, x, scale=float("nan"))),
    ("scale", TypeError, lambda: raceline.attention(x, x, x, scale="1")),
    ("scale is a bool", TypeError, lambda: raceline.attention(x, x, x, scale=True)),
    ("softcap is a bool", TypeError, lambda: raceline.attention(x, x, x, softcap=True)),
    ("scale", ValueError, lambda: raceline.attention(x, x, x, scale=10**400)),
    ("accuracy", ValueError, lambda: raceline.attention(x, x, x, accuracy="fast\0er")),
    ("backend", ValueError, lambda: raceline.attention(x, x, x, backend="\ud800")),
    ("sinks", ValueError, lambda: raceline.attention(x[0, 0, 0], x, x, sinks=np.zeros(1, "f4"))),
    ("softcap", ValueError, lambda: raceline.attention(x, x, x, softcap=-2)),
    ("softcap", TypeError, lambda: raceline.attention(x, x, x, softcap=[])),
    ("sinks", TypeError, lambda: raceline.attention(x, x, x, sinks=np.zeros(2))),
    ("sinks", ValueError, lambda: raceline.attention(x, x, x, sinks=np.zeros(3, np.float32))),
    ("return_lse", TypeError, lambda: raceline.attention(x, x, x, return_lse=1)),
    ("backend", TypeError, lambda: raceline.attention(x, x, x, backend=3)),
]


@pytest.mark.parametrize("name, kind, call", REFUSED)
def test_refusals_name_the_argument(name, kind, call):
    with pytest.raises(kind, match=rf"\b{name}\b") as refusal:
        call()
    assert len(str(refusal.value).splitlines()) == 1


RAGGED = [
    ("cu_seqlens_k", ValueError, [0, 8], None),
    ("cu_seqlens_q", ValueError, None, [0, 8]),
    ("cu_seqlens_q", ValueError, [1, 8], [0, 8]),
    ("cu_seqlens_q", ValueError, [0, 9, 8], [0, 3, 8]),
    ("cu_seqlens_k", ValueError, [0, 8], [0, 7]),
    ("cu_seqlens_q", ValueError, [0, 3, 8], [0, 8]),
    ("cu_seqlens_q", ValueError, [], [0, 8]),
    ("cu_seqlens_q", ValueError, [[0, 8]], [0, 8]),
]


@pytest.mark.parametrize("name, kind, cu_q, cu_k", RAGGED)
def test_refusals_of_prefix_sums(name, kind, cu_q, cu_k):
    sums = [None if s is None else np.array(s, np.int32) for s in (cu_q, cu_k)]
    with pytest.raises(kind, match=name):
        raceline.attention(x[0], x[0], x[0], cu_seqlens_q=sums[0], cu_seqlens_k=sums[1])


def test_prefix_sums_of_another_type():
    sums = np.array([0, 8])
    with pytest.raises(TypeError, match="cu_seqlens_q"):
        raceline.attention(x[0], x[0], x[0], cu_seqlens_q=sums, cu_seqlens_k=sums)


def test_a_gpu_that_is_not_there(normal):
    """Memory that says it is a GPU's, beside and instead of a CPU's."""
    from raceline import _core

    def described(on_gpu, device=0):
        return (64, "fp32", (1, 8, 2, 32), None, on_gpu, device, None)

    def call(q, k):
        given = dict.fromkeys(("window", "scale", "softcap", "backend", "sinks"))
        return _core.ForwardCall({"q": q, "k": k, "v": q, "causal": False, **given}, None)

    with pytest.raises(ValueError, match="k is on CUDA device 0 and q on the CPU"):
        call(described(False), described(True))
    with pytest.raises(ValueError, match="k is on the CPU and q on CUDA device 0"):
        call(described(True), described(False))
    with pytest.raises(ValueError, match="k is on CUDA device 1 and q on CUDA device 0"):
        call(described(True), described(True, 1))
    if not any(d.live and d.id != "cpu" for d in raceline.devices()):
        with pytest.raises(ValueError, match="q is on a CUDA device"):
            call(described(True), described(True)).workspace_bytes
