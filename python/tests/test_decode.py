# SPDX-License-Identifier: Apache-2.0
import numpy as np
import oracle
import pytest
import raceline


def int32(*values):
    return np.array(values, np.int32)


@pytest.fixture
def caches(normal):
    k, v = normal(3, 70, 2, 32), normal(3, 70, 2, 32)
    return normal(3, 1, 8, 32), k, v


def test_full_caches(caches):
    out, lse = raceline.decode(*caches, return_lse=True)
    reference, sums = oracle.cached(*caches, [70, 70, 70])
    oracle.check(out, reference)
    oracle.check_lse(lse, sums)


@pytest.mark.parametrize("options", [{}, {"window": (20, None)}, {"softcap": 3.0}], ids=str)
def test_lengths_and_nothing_read_past_them(caches, options):
    q, k, v = caches
    seqlens = int32(70, 1, 33)
    for cache in (k, v):
        for b, length in enumerate(seqlens):
            cache[b, length:] = np.nan
    out = raceline.decode(q, k, v, seqlens=seqlens, **options)
    oracle.check(out, oracle.cached(q, k, v, seqlens, **options)[0])
    bounded = raceline.decode(q, k, v, seqlens=seqlens, max_seqlen=70, **options)
    oracle.check(bounded, oracle.cached(q, k, v, seqlens, **options)[0])


def test_several_new_tokens_are_causal(normal):
    q, k, v = normal(2, 4, 4, 32), normal(2, 50, 4, 32), normal(2, 50, 4, 32)
    seqlens = int32(50, 21)
    out, lse = raceline.decode(q, k, v, seqlens=seqlens, causal=True, return_lse=True)
    reference, sums = oracle.cached(q, k, v, seqlens, causal=True)
    oracle.check(out, reference)
    oracle.check_lse(lse, sums)


@pytest.mark.parametrize("dtype", [np.uint32, np.int32])
def test_a_tree_of_new_tokens(normal, rng, dtype):
    q, k, v = normal(3, 5, 4, 32), normal(3, 50, 2, 32), normal(3, 50, 2, 32)
    seqlens = int32(50, 5, 3)
    tree = rng.integers(0, 32, (3, 5)).astype(dtype)
    tree[:, 2] = 0
    out, lse = raceline.decode(q, k, v, seqlens=seqlens, tree=tree, return_lse=True)
    reference, sums = oracle.cached(q, k, v, seqlens, tree=tree)
    oracle.check(out, reference)
    oracle.check_lse(lse, sums)
    assert (out[1, 2] == 0).all() and np.isneginf(lse[1, 2]).all()
    tree[0, 0] ^= 1
    assert oracle.error(out, oracle.cached(q, k, v, seqlens, tree=tree)[0]) > 1e-3


def test_a_chain_is_causal(normal):
    q, k = normal(1, 32, 2, 32), normal(1, 40, 2, 32)
    chain = np.array([[2 ** (i + 1) - 1 for i in range(32)]], np.uint32)
    assert np.array_equal(raceline.decode(q, k, k, tree=chain), raceline.decode(q, k, k, causal=True))


@pytest.mark.parametrize("tree, more, error, said", [
    (np.ones((1, 4), np.uint32), {"causal": True}, ValueError, "causal with a tree"),
    (np.ones((1, 4), np.uint32), {"window": (3, None)}, ValueError, "window with a tree"),
    (np.full((1, 4), 16, np.uint32), {}, ValueError, "tree.*bit 4"),
    (np.ones((4,), np.uint32), {}, ValueError, "tree has shape"),
    (np.ones((1, 4), np.int64), {}, TypeError, "tree"),
    (np.ones((1, 4), np.float32), {}, TypeError, "tree"),
], ids=["causal", "window", "bit", "shape", "int64", "float"])
def test_trees_that_are_refused(normal, tree, more, error, said):
    q, k = normal(1, 4, 2, 32), normal(1, 40, 2, 32)
    with pytest.raises(error, match=said):
        raceline.decode(q, k, k, tree=tree, **more)


@pytest.fixture
def packed(normal):
    """Ten tokens of four sequences, one without any, over pages of 16."""
    k, v = normal(12, 16, 2, 32), normal(12, 16, 2, 48)
    table = int32([3, 1, 0], [5, 9, 9], [2, 4, 6], [7, 8, 10])
    return normal(10, 8, 32), k, v, int32(0, 3, 3, 4, 10), {"block_table": table,
                                                           "seqlens": int32(40, 7, 33, 48)}


@pytest.mark.parametrize("bound", [None, 6, 16, 1000])
@pytest.mark.parametrize("options", [{"causal": True}, {"window": (9, 0), "softcap": 3.0}], ids=str)
def test_different_numbers_of_new_tokens(packed, bound, options):
    q, k, v, sums, where = packed
    out, lse = raceline.decode(q, k, v, cu_seqlens_q=sums, max_seqlen_q=bound, return_lse=True,
                               **where, **options)
    reference, lses = oracle.cached_packed(q, k, v, sums, where["seqlens"], where["block_table"],
                                           **options)
    assert out.shape == (10, 8, 48) and lse.shape == (10, 8)
    oracle.check(out, reference)
    oracle.check_lse(lse, lses)
    one = {name: x[2:3] for name, x in where.items()}
    alone = raceline.decode(q[None, 3:4], k, v, **one, **options)
    assert np.allclose(out[3:4], alone[0], atol=1e-5)
    other = sums.copy()
    other[1:3] = 2
    wrong = raceline.decode(q, k, v, cu_seqlens_q=other, **where, **options)
    assert oracle.error(wrong, reference) > 1e-3


def test_different_numbers_of_new_tokens_over_contiguous_caches(normal):
    q, k, v, sums = normal(5, 4, 32), normal(3, 40, 2, 32), normal(3, 40, 2, 32), int32(0, 1, 5, 5)
    sinks = normal(4)
    out = raceline.decode(q, k, v, cu_seqlens_q=sums, causal=True, sinks=sinks)
    oracle.check(out, oracle.cached_packed(q, k, v, sums, [40] * 3, causal=True, sinks=sinks)[0])


def test_trees_of_different_numbers_of_new_tokens(packed, rng):
    q, k, v, sums, where = packed
    tree = np.array([rng.integers(0, 2 ** n) for n in (3, 3, 3, 1, 6, 6, 6, 6, 6, 6)], np.uint32)
    out = raceline.decode(q, k, v, cu_seqlens_q=sums, tree=tree, **where)
    oracle.check(out, oracle.cached_packed(q, k, v, sums, where["seqlens"], where["block_table"],
                                           tree)[0])
    tree[3] = 2
    with pytest.raises(ValueError, match=r"tree\[3\] is 0x2, with bit 1 set; the 1 new tokens of "
                                         "sequence 2"):
        raceline.decode(q, k, v, cu_seqlens_q=sums, tree=tree, **where)


def test_no_new_tokens(normal):
    k = normal(2, 40, 2, 32)
    out, lse = raceline.decode(normal(0, 4, 32), k, k, cu_seqlens_q=int32(0, 0, 0), return_lse=True)
    assert out.shape == (0, 4, 32) and lse.shape == (0, 4)


@pytest.mark.parametrize("given, kind, said", [
    ({"cu_seqlens_q": int32(1, 3, 3, 4, 10)}, ValueError, r"cu_seqlens_q\[0\] is 1; prefix sums"),
    ({"cu_seqlens_q": int32(0, 3, 2, 4, 10)}, ValueError, r"cu_seqlens_q\[2\] is 2 after 3"),
    ({"cu_seqlens_q": int32(0, 3, 3, 4, 9)}, ValueError, "cu_seqlens_q ends at 9; it must end at q"),
    ({"cu_seqlens_q": int32(0, 1, 1, 1, 1)}, ValueError, "cu_seqlens_q ends at 1"),
    ({"cu_seqlens_q": int32(0, 3, 4, 10)}, ValueError, "block_table has 4 rows"),
    ({"cu_seqlens_q": int32()}, ValueError, "cu_seqlens_q is empty"),
    ({"cu_seqlens_q": int32([0, 3, 3, 4, 10])}, ValueError, "cu_seqlens_q has shape"),
    ({"cu_seqlens_q": np.array([0, 3, 3, 4, 10])}, TypeError, "cu_seqlens_q has dtype int64"),
    ({"cu_seqlens_q": [0, 3, 3, 4, 10]}, TypeError, "cu_seqlens_q is"),
    ({"cu_seqlens_q": None}, ValueError, "q has 3 dimensions; it must have 4"),
    ({"max_seqlen_q": 5}, ValueError, "max_seqlen_q is 5; cu_seqlens_q has a sequence of 6 tokens"),
    ({"max_seqlen_q": 2}, ValueError, "max_seqlen_q is 2; the 10 tokens of q need 5 sequences"),
    ({"max_seqlen_q": 0}, ValueError, "max_seqlen_q is 0; it must be 1 or more"),
    ({"max_seqlen_q": 2.5}, TypeError, "max_seqlen_q"),
    ({"tree": np.ones((1, 10), np.uint32)}, ValueError, "tree has shape"),
], ids=lambda x: str(x)[:40])
def test_packed_calls_that_are_refused(packed, given, kind, said):
    q, k, v, sums, where = packed
    with pytest.raises(kind, match=said):
        raceline.decode(q, k, v, **{"cu_seqlens_q": sums, **where, **given})


def test_what_goes_with_a_packed_q_alone(caches):
    with pytest.raises(ValueError, match="max_seqlen_q is given without cu_seqlens_q"):
        raceline.decode(*caches, max_seqlen_q=1)
    with pytest.raises(ValueError, match="q has 4 dimensions; it must have 3 with cu_seqlens_q"):
        raceline.decode(*caches, cu_seqlens_q=int32(0, 1, 2, 3))


def test_an_empty_sequence(caches):
    q, k, v = caches
    out, lse = raceline.decode(q, k, v, seqlens=int32(5, 0, 7), return_lse=True)
    assert (out[1] == 0).all() and np.isneginf(lse[1]).all()
    oracle.check(out, oracle.cached(q, k, v, [5, 0, 7])[0])


@pytest.mark.parametrize("sliced", [False, True], ids=["whole", "slice of a wider table"])
def test_pages(normal, rng, sliced):
    k, v, q = normal(11, 16, 2, 32), normal(11, 16, 2, 48), normal(2, 1, 4, 32)
    table = rng.permutation(11)[:8].reshape(2, 4).astype(np.int32)
    seqlens = int32(61, 17)
    table[1, 2:] = 99999  # past its end: nobody's business
    if sliced:
        wide = np.full((2, 9), -7, np.int32)
        wide[:, :4] = table
        table = wide[:, :4]
    out = raceline.decode(q, k, v, block_table=table, seqlens=seqlens)
    oracle.check(out, oracle.cached(q, k, v, seqlens, table)[0])


def test_a_page_out_of_range_is_refused(normal):
    k, q = normal(4, 16, 2, 32), normal(1, 1, 2, 32)
    for page in (4, -1, 2**30):
        with pytest.raises(ValueError, match="block_table"):
            raceline.decode(q, k, k, block_table=int32([0, page]), seqlens=int32(20))


def test_latent_cache(normal):
    q, cache = normal(2, 1, 8, 72), normal(2, 40, 1, 72)
    out = raceline.decode(q, cache, cache[..., :64], seqlens=int32(40, 13))
    oracle.check(out, oracle.cached(q, cache, cache[..., :64], [40, 13])[0])


def test_e4m3_caches_and_their_scales(normal, rng):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    q = normal(2, 1, 4, 32)
    k, v = (normal(2, 50, 2, 32).astype(ml_dtypes.float8_e4m3fn) for _ in range(2))
    k_scale, v_scale = (rng.uniform(0.5, 2, (2, 2)).astype(np.float32) for _ in range(2))
    out = raceline.decode(q, k, v, k_scale=k_scale, v_scale=v_scale)
    wide = [
        x.astype(np.float64) * s[:, None, :, None] for x, s in ((k, k_scale), (v, v_scale))
    ]
    oracle.check(out, oracle.cached(q, *wide, [50, 50])[0])



@pytest.mark.parametrize("paged", [False, True])
@pytest.mark.parametrize("tokens", [1, 20])
def test_a_scale_for_each_token(normal, rng, paged, tokens):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    q = normal(2, tokens, 4, 32)
    shape = (7, 16, 2) if paged else (2, 50, 2)
    k, v = (normal(*shape, 32).astype(ml_dtypes.float8_e4m3fn) for _ in range(2))
    k_scale = rng.uniform(0.5, 2, shape).astype(np.float32)
    # Of any strides: tokens side by side here.
    v_scale = np.ascontiguousarray(k_scale[::-1].transpose(0, 2, 1)).transpose(0, 2, 1)
    table = int32([6, 0, 3, 2], [1, 5, 4, 6]) if paged else None
    seqlens = int32(50, 33)
    out = raceline.decode(q, k, v, seqlens=seqlens, block_table=table, k_scale=k_scale,
                          v_scale=v_scale)
    wide = [x.astype(np.float64) * s[..., None] for x, s in ((k, k_scale), (v, v_scale))]
    oracle.check(out, oracle.cached(q, *wide, seqlens, table)[0])
    older = np.roll(k_scale, 1, axis=1)
    other = raceline.decode(q, k, v, seqlens=seqlens, block_table=table, k_scale=older,
                            v_scale=v_scale)
    assert oracle.error(other, oracle.cached(q, *wide, seqlens, table)[0]) > 1e-3
    with pytest.raises(ValueError, match="k_scale is given without v_scale"):
        raceline.decode(q, k, v, seqlens=seqlens, block_table=table, k_scale=k_scale)
    with pytest.raises(ValueError, match="k_scale has shape"):
        raceline.decode(q, k, v, seqlens=seqlens, block_table=table, k_scale=k_scale[:, 1:],
                        v_scale=v_scale)


REFUSED = [
    ({"seqlens": int32(71, 1, 1)}, ValueError, "seqlens"),
    ({"seqlens": int32(3, -1, 1)}, ValueError, "seqlens"),
    ({"seqlens": int32(3, 1)}, ValueError, "seqlens"),
    ({"seqlens": np.array([3, 1, 2])}, TypeError, "seqlens"),
    ({"seqlens": [3, 1, 2]}, TypeError, "seqlens"),
    ({"max_seqlen": 71}, ValueError, "max_seqlen"),
    ({"max_seqlen": "70"}, TypeError, "max_seqlen"),
    ({"max_seqlen": 5, "seqlens": int32(6, 5, 4)}, ValueError, "seqlens"),
    ({"block_table": int32([0], [1])}, ValueError, "block_table"),
    ({"block_table": int32(0, 1, 2)}, ValueError, "block_table"),
    ({"k_scale": np.ones((3, 2), np.float32)}, ValueError, "k_scale"),
    ({"v_scale": np.ones((3, 2), np.float64)}, TypeError, "v_scale"),
    ({"sinks": np.ones(7, np.float32)}, ValueError, "sinks"),
    ({"checked": 2}, TypeError, "checked"),
]


@pytest.mark.parametrize("given, kind, name", REFUSED, ids=lambda x: str(x)[:40])
def test_refusals_name_the_argument(caches, given, kind, name):
    with pytest.raises(kind, match=name) as refused:
        raceline.decode(*caches, **given)
    assert "seqlen_k" not in str(refused.value) and "seqlens_k" not in str(refused.value)
