# SPDX-License-Identifier: Apache-2.0
import numpy as np
import oracle
import pytest
import raceline

OPTIONS = [
    {},
    {"causal": True},
    {"window": (16, 4)},
    {"window": (None, 3), "softcap": 5.0},
    {"causal": True, "window": (9, None), "scale": 0.3},
    {"softcap": 2, "scale": 1.5},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_answers(normal, dtype, options):
    q, k, v = (normal(2, n, h, 40, dtype=dtype) for n, h in ((33, 6), (65, 2), (65, 2)))
    out, lse = raceline.attention(q, k, v, return_lse=True, **options)
    reference, sums = oracle.batch(q, k, v, **options)
    assert type(out) is np.ndarray and out.dtype == q.dtype
    oracle.check(out, reference, dtype)
    oracle.check_lse(lse, sums, dtype)
    alone = raceline.attention(q, k, v, **options)
    assert np.array_equal(alone, out)


def test_more_queries_than_keys_leaves_rows_without_any(normal):
    q, k, v = normal(1, 9, 2, 16), normal(1, 4, 2, 16), normal(1, 4, 2, 24)
    out, lse = raceline.attention(q, k, v, causal=True, return_lse=True)
    assert out.shape == (1, 9, 2, 24)
    assert (out[0, :5] == 0).all() and np.isneginf(lse[0, :5]).all()
    reference, sums = oracle.batch(q, k, v, causal=True)
    oracle.check(out, reference)
    oracle.check_lse(lse, sums)


def test_sinks(normal):
    q, k, v, sinks = normal(2, 7, 4, 32), normal(2, 19, 2, 32), normal(2, 19, 2, 32), normal(4)
    out, lse = raceline.attention(q, k, v, sinks=sinks, return_lse=True)
    reference, sums = oracle.batch(q, k, v, sinks=sinks)
    oracle.check(out, reference)
    oracle.check_lse(lse, sums)


def test_ragged(normal):
    cu_q, cu_k = (np.array(sums, np.int32) for sums in ([0, 5, 5, 18], [0, 9, 13, 40]))
    q, k, v = normal(18, 4, 32), normal(40, 2, 32), normal(40, 2, 32)
    out, lse = raceline.attention(
        q, k, v, cu_seqlens_q=cu_q, cu_seqlens_k=cu_k, causal=True, return_lse=True
    )
    reference, sums = oracle.ragged(q, k, v, cu_q, cu_k, causal=True)
    oracle.check(out, reference)
    oracle.check_lse(lse, sums)


def test_bfloat16_of_ml_dtypes(normal):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    q, k, v = (normal(1, 33, 2, 64).astype(ml_dtypes.bfloat16) for _ in range(3))
    out = raceline.attention(q, k, v)
    assert out.dtype == ml_dtypes.bfloat16
    reference, _ = oracle.batch(*(x.astype(np.float64) for x in (q, k, v)))
    oracle.check(out.astype(np.float32), reference, "bfloat16")


def test_a_named_backend_and_one_that_does_not_exist(normal):
    q = normal(1, 8, 2, 32)
    oracle.check(raceline.attention(q, q, q, backend="cpu_flash"), oracle.batch(q, q, q)[0])
    with pytest.raises(ValueError, match="cpu_flash"):
        raceline.attention(q, q, q, backend="cpu_flsh")
    with pytest.raises(NotImplementedError, match="simt"):
        raceline.attention(q, q, q, backend="simt")
