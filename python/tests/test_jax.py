# SPDX-License-Identifier: Apache-2.0
import numpy as np
import oracle
import pytest

jax = pytest.importorskip("jax")
import raceline  # noqa: E402


@pytest.fixture
def arrays(normal):
    return [jax.numpy.asarray(normal(2, n, h, 32)) for n, h in ((9, 4), (21, 2), (21, 2))]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_attention(arrays, dtype):
    q, k, v = (x.astype(dtype) for x in arrays)
    out, lse = raceline.attention(q, k, v, causal=True, return_lse=True)
    assert isinstance(out, jax.Array) and out.dtype == q.dtype and out.devices() == q.devices()
    reference, sums = oracle.batch(*(np.asarray(x, np.float64) for x in (q, k, v)), causal=True)
    oracle.check(np.asarray(out, np.float64), reference, dtype)
    oracle.check_lse(np.asarray(lse), sums, dtype)


def test_ragged_and_decode(arrays):
    q, k, v = arrays
    sums = [jax.numpy.array(s, "int32") for s in ([0, 4, 9], [0, 20, 21])]
    out = raceline.attention(q[0], k[0], v[0], cu_seqlens_q=sums[0], cu_seqlens_k=sums[1])
    flat = [np.asarray(x)[0] for x in (q, k, v)]
    oracle.check(np.asarray(out), oracle.ragged(*flat, [0, 4, 9], [0, 20, 21])[0])
    out = raceline.decode(q[:, :1], k, v, seqlens=jax.numpy.array([3, 20], "int32"))
    oracle.check(np.asarray(out), oracle.cached(*map(np.asarray, (q[:, :1], k, v)), [3, 20])[0])


def test_results_are_values(arrays):
    """Later work of JAX sees the output, and the output stays when its inputs go."""
    out = raceline.attention(*arrays)
    twice = np.asarray(jax.jit(lambda x: x * 2)(out))
    reference = oracle.batch(*map(np.asarray, arrays))[0]
    arrays.clear()
    for _ in range(50):
        raceline.attention(*[jax.numpy.ones((2, 21, 2, 32))] * 3)
    oracle.check(np.asarray(out), reference)
    oracle.check(twice, 2 * reference)


def test_results_are_handed_over_without_a_copy(arrays, monkeypatch):
    from raceline._tensors import library_of

    library, addresses = library_of("q", arrays[0]), []
    if library.stream(arrays[0]) is not None:
        pytest.skip("on a GPU JAX allocates")
    finished = library.finished

    def watch(x):
        addresses.append(x.ctypes.data)
        return finished(x)

    monkeypatch.setattr(library, "finished", watch)
    results = [raceline.attention(*arrays) for _ in range(20)]
    assert [x.unsafe_buffer_pointer() for x in results] == addresses


def test_tracers_are_refused_by_name(arrays):
    q, k, v = arrays
    with pytest.raises(TypeError, match="k is traced"):
        jax.jit(lambda k: raceline.attention(q, k, v))(k)
