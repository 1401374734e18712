# SPDX-License-Identifier: Apache-2.0
import numpy as np
import oracle
import pytest
import raceline


def float64(out_parts, lse_parts, sinks=None):
    """The weighted mean as the definition reads; what has seen no key counts for nothing."""
    lses = lse_parts.astype(np.float64)
    if sinks is not None:
        lses = np.concatenate([lses, np.broadcast_to(sinks, lses.shape[1:])[None]])
        out_parts = np.concatenate([out_parts, np.zeros_like(out_parts[:1])])
    weights = np.exp(lses)
    total = weights.sum(0)
    outs = np.where(np.isneginf(lses)[..., None], 0, out_parts.astype(np.float64))
    with np.errstate(divide="ignore"):
        lse = np.log(total)
    return (weights[..., None] * outs).sum(0) / np.where(total > 0, total, 1)[..., None], lse


@pytest.fixture
def parts(normal):
    outs, lses = normal(6, 9, 4, 40), 2 * normal(6, 9, 4)
    lses[1, 3] = lses[:, 5, 2] = -np.inf
    outs[1, 3] = outs[:, 5, 2] = np.nan
    return outs, lses


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("with_sinks", [False, True])
def test_float64(parts, normal, dtype, with_sinks):
    outs, lses = parts[0].astype(dtype), parts[1]
    sinks = normal(4) if with_sinks else None
    out, lse = raceline.combine(outs, lses, sinks=sinks, return_lse=True)
    reference, sums = float64(outs, lses, sinks)
    assert out.dtype == dtype and (out[5, 2] == 0).all()
    oracle.check(out, reference, dtype)
    oracle.check_lse(lse, sums)


def test_dtype_of_the_output(parts):
    outs, lses = parts
    out = raceline.combine(outs, lses, dtype=np.float16)
    assert out.dtype == np.float16
    oracle.check(out, float64(outs, lses)[0], "float16")


def test_any_strides(parts):
    outs, lses = parts
    plain = raceline.combine(outs, lses)
    apart = np.zeros((6, 4, 9, 50), np.float32)
    apart[..., :40] = outs.transpose(0, 2, 1, 3)
    same = raceline.combine(apart[..., :40].transpose(0, 2, 1, 3),
                            np.asfortranarray(lses))
    np.testing.assert_array_equal(plain, same)


def test_parts_of_a_cache_are_the_whole_cache(normal):
    """Three calls over thirds of the keys, combined, against one over all; the sink counts once."""
    q, k, v = normal(1, 5, 8, 32), normal(1, 60, 2, 32), normal(1, 60, 2, 32)
    sinks = normal(8)
    cuts = [0, 7, 40, 60]
    results = [raceline.attention(q, k[:, a:b], v[:, a:b], return_lse=True)
               for a, b in zip(cuts, cuts[1:])]
    outs, lses = (np.concatenate(x) for x in zip(*results))
    out, lse = raceline.combine(outs, lses, sinks=sinks, return_lse=True)
    reference, sums = oracle.batch(q, k, v, sinks=sinks)
    oracle.check(out, reference[0])
    oracle.check_lse(lse, sums[0])


def test_refusals(parts):
    outs, lses = parts
    for said, kind, arguments, options in [
        ("out_parts has 3 dimensions; it must have 4", ValueError, (outs[0], lses), {}),
        ("lse_parts has shape", ValueError, (outs, lses[:, :3]), {}),
        ("lse_parts has dtype fp16; it is always fp32", ValueError,
         (outs, lses.astype(np.float16)), {}),
        ("out_parts is a list", TypeError, ([outs], lses), {}),
        ("lse_parts is None", TypeError, (outs, None), {}),
        ("out_parts has 0 parts", ValueError, (outs[:0], lses[:0]), {}),
        ("sinks", ValueError, (outs, lses), {"sinks": np.zeros(5, np.float32)}),
        ("out has dtype|out is|out ", (TypeError, ValueError), (outs, lses), {"dtype": np.int32}),
        ("return_lse is an int", TypeError, (outs, lses), {"return_lse": 1}),
    ]:
        with pytest.raises(kind, match=said):
            raceline.combine(*arguments, **options)
