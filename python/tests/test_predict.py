# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import time

import numpy as np
import pytest
import raceline
from raceline import _core


def test_sums_and_limits():
    p = raceline.predict("b=64,h=32/8,q=1,k=8192,d=128", device="h200")
    assert p.device == "h200" and p.workload["batch"] == 64
    assert p.seconds == pytest.approx(sum(p.terms.values()))
    assert p.seconds >= max(p.resources.values()) > 0
    # 64 sequences of 8192 keys and values, 8 heads of 128 bf16: 17.2 GB of a cache that is read
    # once, at no more than the 4.8 TB/s of the datasheet.
    assert p.resources[p.limiter] >= 64 * 8192 * 8 * 128 * 2 * 2 / 4.8e12
    assert p.band is None or p.band[0] <= p.band[1]


def test_tensors_shapes_and_grammar_agree(normal):
    q, k = normal(2, 64, 8, 64), normal(2, 96, 2, 64)
    tensors = raceline.predict(q, k, k, causal=True)
    shapes = raceline.predict(q.shape, k.shape, dtype="fp32", device="cpu", causal=True)
    text = raceline.predict("b=2,h=8/2,q=64,k=96,d=64,dtype=fp32,causal", device="cpu")
    assert tensors is shapes
    assert tensors.seconds == text.seconds and tensors.workload == text.workload


def test_decode_forms(normal):
    q, k = normal(2, 1, 8, 64), normal(2, 500, 2, 64)
    tensors = raceline.predict(q, k_cache=k, v_cache=k.copy(), max_seqlen=300)
    shapes = raceline.predict(
        q.shape, k_cache=k.shape, max_seqlen=300, dtype=np.float32, device="cpu"
    )
    assert tensors is shapes and tensors.workload["seqlen_k"] == 300
    pages = raceline.predict(
        (4, 1, 32, 128), (1000, 64, 8, 128), block_table=(4, 128), dtype="bf16", kv_dtype="e4m3",
        k_scale=(4, 8), v_scale=(4, 8), sinks=True, device="h200",
    )
    assert pages.workload["page_size"] == 64 and pages.workload["kv_dtype"] == "e4m3"
    assert pages.workload["seqlen_k"] == 64 * 128 and pages.workload["sinks"]
    grown = raceline.predict((4, 8, 32, 128), k_cache=(4, 8192, 8, 128), tree=True, device="h200")
    assert grown.workload["tree"] == 1 and grown.kernel == "decode_sm90_tree"
    chain = raceline.predict((4, 8, 32, 128), k_cache=(4, 8192, 8, 128), tree=False, device="h200")
    assert "tree" not in chain.workload
    latent = normal(1, 100, 1, 192)
    once = raceline.predict(normal(1, 1, 16, 192), latent, latent[..., :128], max_seqlen=90)
    apart = raceline.predict(normal(1, 1, 16, 192), latent, latent[..., :128].copy(), max_seqlen=90)
    assert once is not apart and once.workload != apart.workload


def test_packed_decode():
    shapes = {"k_cache": (999, 64, 8, 128), "block_table": (4, 128), "device": "h200",
              "causal": True}
    known = raceline.predict((12, 32, 128), cu_seqlens_q=[0, 1, 9, 9, 12], **shapes)
    assert known.workload["seqlens_q"] == [1, 8, 0, 3] and known.kernel == "decode_sm90"
    tree = raceline.predict((12, 32, 128), cu_seqlens_q=[0, 1, 9, 9, 12], tree=True,
                            **{**shapes, "causal": False})
    assert tree.workload["tree"] == 1 and tree.kernel == "decode_sm90_tree"
    assert raceline.predict((12, 32, 128), cu_seqlens_q=[0, 3, 6, 9, 12], **shapes) is not known
    with pytest.raises(ValueError, match="cu_seqlens_q ends at 11"):
        raceline.predict((12, 32, 128), cu_seqlens_q=[0, 1, 9, 9, 11], **shapes)
    with pytest.raises(NotImplementedError, match="up to 16 query tokens"):
        raceline.predict((40, 32, 128), cu_seqlens_q=[0, 1, 19, 19, 40], backend="decode_sm90",
                         **shapes)
    with pytest.raises(TypeError, match="cu_seqlens_k does not go with what `decode` takes"):
        raceline.predict((12, 32, 128), cu_seqlens_q=[0, 12], cu_seqlens_k=[0, 12], **shapes)


def test_packed_decode_of_tensors(normal):
    q, k = normal(7, 8, 64), normal(2, 90, 2, 64)
    sums, lengths = np.array([0, 5, 7], np.int32), np.array([90, 8], np.int32)
    made = raceline.predict(q, k_cache=k, v_cache=k.copy(), seqlens=lengths, cu_seqlens_q=sums)
    assert made.workload["seqlens_q"] == [5, 2] and made.workload["seqlens_k"] == [90, 8]


def test_ragged_lengths_count():
    shape = ((300, 8, 64), (300, 2, 64))
    even = raceline.predict(*shape, cu_seqlens_q=[0, 150, 300], cu_seqlens_k=[0, 150, 300],
                            dtype="fp16", device="h200", causal=True)
    one = raceline.predict(*shape, cu_seqlens_q=[0, 300], cu_seqlens_k=[0, 300], dtype="fp16",
                           device="h200", causal=True)
    assert even is not one and even.workload["batch"] == 2


def test_lengths_of_a_cache_are_predicted():
    """One long sequence among short ones is no batch of long ones."""
    q, pages = np.zeros((8, 1, 8, 128), "f2"), np.zeros((4096, 16, 8, 128), "f2")
    table = np.arange(4096, dtype="i4").reshape(8, 512)

    def predicted(lengths):
        return raceline.predict(q, k_cache=pages, v_cache=pages, block_table=table, device="h200",
                                seqlens=np.array(lengths, "i4"))

    even, uneven = predicted([8192] * 8), predicted([8192] + [16] * 7)
    assert uneven.workload["seqlens_k"] == [8192] + [16] * 7
    assert uneven.kernel == even.kernel  # a call does not look at the lengths when it chooses
    assert uneven.resources["dram"] < even.resources["dram"] / 7
    words = raceline.predict(
        "h=8,q=1,k=8192;16;16;16;16;16;16;16,d=128,page=16,dtype=fp16", device="h200",
        backend=uneven.kernel,
    )
    # Words say what the lengths are, a call does not look at them: their tiles may differ.
    assert words.resources["dram"] == pytest.approx(uneven.resources["dram"], rel=0.01)
    with pytest.raises(ValueError, match="seqlens"):
        predicted([8192] * 7 + [-1])


def test_every_argument_is_part_of_what_is_remembered():
    base = {"dtype": "bf16", "device": "h200"}
    shapes = ((2, 512, 8, 128), (2, 512, 8, 128))
    first = raceline.predict(*shapes, **base)
    assert raceline.predict(*shapes, **base) is first
    changes = [
        {"device": "a100-80"}, {"dtype": "fp16"}, {"causal": True}, {"window": (64, 0)},
        {"softcap": 3.0}, {"sinks": True}, {"backend": "simt"}, {"backend": "prefill_sm90"},
    ]
    seen = [raceline.predict(*shapes, **base | change) for change in changes]
    assert len({id(p) for p in [first, *seen]}) == len(seen) + 1
    assert [p.kernel for p in seen[-2:]] == ["simt", "prefill_sm90"]
    assert raceline.predict((2, 512, 8, 128), (2, 513, 8, 128), **base) is not first


def test_new_rates_are_seen(tmp_path, monkeypatch, normal):
    """A prediction for this machine is made anew when its file of rates comes, changes or goes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    q = normal(1, 64, 2, 64)
    before = raceline.predict(q, q, q)
    assert raceline.predict(q, q, q) is before
    file = pathlib.Path(_core.ceilings_path("cpu"))
    assert file.parent.parent == tmp_path
    file.parent.mkdir()
    file.write_text("")
    with_file = raceline.predict(q, q, q)
    assert with_file is not before
    os.utime(file, (1, 1))
    assert raceline.predict(q, q, q) is not with_file
    file.unlink()
    assert raceline.predict(q, q, q) is before


def test_prints_as_a_table():
    p = raceline.predict("b=4,h=32/8,q=1,k=8192,d=128", device="h200")
    text = str(p)
    assert p.limiter in text and "H200" in text and p.kernel in text
    assert all(len(line) < 120 for line in text.splitlines())
    for name, value in p.terms.items():
        assert (name in text) or value < p.seconds / 1000
    html = p._repr_html_()
    assert html.count("<tr>") == len(text.splitlines()) - 2 and p.limiter in html
    assert "\n" not in repr(p) and p.limiter in repr(p)


REFUSED = [
    ("device", ValueError, lambda: raceline.predict("b=1,h=2,q=3,k=4,d=64", device="h20O")),
    ("device", TypeError, lambda: raceline.predict("b=1,h=2,q=3,k=4,d=64", device=1)),
    ("z", ValueError, lambda: raceline.predict("b=1,z=2")),
    ("dtype", TypeError, lambda: raceline.predict((1, 2, 3, 4), (1, 2, 3, 4), dtype="int8")),
    ("kv_dtype", TypeError, lambda: raceline.predict((1, 2, 3, 4), (1, 2, 3, 4), kv_dtype=3)),
    ("k", TypeError, lambda: raceline.predict((1, 2, 3, 4))),
    ("k", ValueError, lambda: raceline.predict((1, 2, 3, 4), (1, 2, 3))),
    ("q", TypeError, lambda: raceline.predict(3, 4)),
    ("seqlens", TypeError, lambda: raceline.predict((1, 1, 3, 4), (1, 2, 3, 4), seqlens=[2])),
    ("backend", ValueError, lambda: raceline.predict((1, 1, 3, 4), (1, 2, 3, 4), backend="no")),
    # Words say all of a shape: what stands beside them would be ignored.
    ("dtype", TypeError, lambda: raceline.predict(WORDS, dtype="fp32")),
    ("causal", TypeError, lambda: raceline.predict(WORDS, causal=True)),
    ("causal", TypeError, lambda: raceline.predict(WORDS + ",causal", causal=False)),
    ("accuracy", TypeError, lambda: raceline.predict(WORDS, accuracy="accurate")),
    ("q", TypeError, lambda: raceline.predict((True, 2, 3, 4), (1, 2, 3, 4))),
    ("k", TypeError, lambda: raceline.predict(WORDS, (1, 2, 3, 4))),
    ("seqlens", TypeError, lambda: raceline.predict(WORDS, seqlens=np.ones(1, "i4"))),
    ("accuracy", TypeError, lambda: raceline.predict(WORDS, accuracy="fast")),
    ("shape", ValueError, lambda: raceline.predict(WORDS + "\ud800")),
    ("shape", ValueError, lambda: raceline.predict(WORDS + "\0,causal")),
    ("device", ValueError, lambda: raceline.predict(WORDS, device="")),
    ("return_lse", TypeError, lambda: raceline.predict(WORDS, return_lse=1)),
    # So would these beside tensors, or in a call of decode.
    ("dtype", TypeError, lambda: raceline.predict(X, X, X, dtype="fp32")),
    ("accuracy", TypeError, lambda: raceline.predict(X, X, X, max_seqlen=3, accuracy="fast")),
    ("cu_seqlens_k", TypeError, lambda: raceline.predict(X, X, X, max_seqlen=3, cu_seqlens_k=X)),
    ("cu_seqlens_q", TypeError, lambda: raceline.predict(WORDS, cu_seqlens_q=[0, 1])),
    ("k_cache", TypeError, lambda: raceline.predict(X, X, k_cache=X)),
    # Shapes hold whole numbers that fit.
    ("q", TypeError, lambda: raceline.predict((1.0, 2, 3, 4), (1, 2, 3, 4))),
    ("k", TypeError, lambda: raceline.predict((1, 2, 3, 4), (1, None, 3, 4))),
    ("q", ValueError, lambda: raceline.predict((2**70, 2, 3, 4), (1, 2, 3, 4))),
    ("sinks", ValueError, lambda: raceline.predict((), (1, 2, 3, 4), sinks=True)),
    ("cu_seqlens_q", ValueError, lambda: ragged([0, 2**40])),
    ("cu_seqlens_q", TypeError, lambda: ragged([0, 2.5])),
    ("cu_seqlens_q", TypeError, lambda: ragged(2)),
]
WORDS = "h=2,q=3,k=4,d=64"
X = np.zeros((1, 3, 2, 8), "f4")


def ragged(sums):
    return raceline.predict((2, 3, 4), (2, 3, 4), cu_seqlens_q=sums, cu_seqlens_k=[0, 2])


@pytest.mark.parametrize("name, kind, call", REFUSED)
def test_refusals_name_the_argument(name, kind, call):
    with pytest.raises(kind, match=rf"\b{name}\b|'{name}'"):
        call()


def microseconds(call, calls=40, rounds=500):
    """The best of many short rounds: what the call costs where nothing else gets in between."""
    call()
    best = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best.append((time.perf_counter() - start) / calls * 1e6)
    return min(best)


def test_is_fast(normal):
    q, k = normal(1, 1, 32, 128), normal(1, 4096, 8, 128)
    text = "b=64,h=32/8,q=1,k=8192,d=128"
    calls = {
        "tensors": lambda: raceline.predict(q, k, k, causal=True),
        "decode": lambda: raceline.predict(q, k_cache=k, v_cache=k, max_seqlen=4000),
        "shapes": lambda: raceline.predict(q.shape, k.shape, dtype="bf16", device="h200"),
        "text": lambda: raceline.predict(text, device="h200"),
    }
    best = {name: microseconds(call) for name, call in calls.items()}
    print({name: f"{value:.1f} µs" for name, value in best.items()})
    assert max(best.values()) < 20, best


def test_both_times_and_what_they_rest_on():
    p = raceline.predict("h=16,q=4096,k=4096,d=128,dtype=bf16", device="h200")
    assert 0 < p.uncalibrated_seconds < p.seconds  # terms that were fitted are missing
    assert p.expected_seconds > 0
    assert p.band is None or p.band[0] <= p.expected_seconds <= p.band[1]


def test_the_bound_and_where_rates_come_from():
    measured = raceline.predict("h=16,q=4096,k=4096,d=128,dtype=bf16", device="h200")
    assert 0 < measured.bound["seconds"] <= min(measured.seconds, measured.expected_seconds)
    assert measured.bound["limiter"] == "flop.wgmma.bf16"
    assert measured.bound["rates"] == measured.rates["flop.wgmma.bf16"] == "committed"
    assert measured.rates["byte.smem_mma"] == "datasheet"  # no probe reads it
    sheet = raceline.predict("h=16,q=4096,k=4096,d=128,dtype=bf16", device="b200")
    assert sheet.bound["rates"] == "datasheet"
    assert all("datasheet" in origin for origin in sheet.rates.values())


def test_accuracy_is_an_option_of_the_workload():
    shape, about = (1, 4096, 16, 128), {"dtype": "e4m3", "device": "h200"}
    default = raceline.predict(shape, shape, **about)
    accurate = raceline.predict(shape, shape, accuracy="accurate", **about)
    fast = raceline.predict(shape, shape, accuracy="fast", **about)
    assert default is accurate
    assert "accuracy" not in default.workload and fast.workload["accuracy"] == "fast"
    assert default.tile["promote"] != 0
    assert fast.seconds <= default.seconds  # it may take any tile
    for wrong in ("quick", "Fast", "ü" * 100):
        with pytest.raises(ValueError, match="accuracy is .*'accurate' or 'fast'"):
            raceline.predict(shape, shape, accuracy=wrong, **about)


def test_a_call_without_rows_takes_no_time_by_every_measure():
    q = np.zeros((1, 0, 2, 8), "f4")
    predicted = raceline.predict(q, q, q)
    assert predicted.seconds == predicted.expected_seconds == predicted.uncalibrated_seconds == 0
