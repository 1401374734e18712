# SPDX-License-Identifier: Apache-2.0
"""PyTorch: tensors, operators, compilation. Every test runs on each device that is there."""

import numpy as np
import oracle
import pytest

torch = pytest.importorskip("torch")
import raceline  # noqa: E402
import raceline.torch  # noqa: E402

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
DTYPES = [torch.float32, torch.float16, torch.bfloat16]


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


@pytest.fixture
def randn(device):
    generator = torch.Generator().manual_seed(4711)

    def make(*shape, dtype=torch.float32):
        return torch.randn(shape, generator=generator).to(device, dtype)

    return make


def numpy(x):
    return x.detach().cpu().double().numpy()


def name(dtype):
    return str(dtype).rpartition(".")[2]


@pytest.mark.parametrize("dtype", DTYPES, ids=name)
def test_attention(randn, device, dtype):
    q, k, v = randn(2, 40, 8, 64, dtype=dtype), *(randn(2, 70, 2, 64, dtype=dtype) for _ in "kv")
    out, lse = raceline.attention(q, k, v, causal=True, softcap=8.0, return_lse=True)
    reference, sums = oracle.batch(*map(numpy, (q, k, v)), causal=True, softcap=8.0)
    assert out.dtype == dtype and out.device == q.device and lse.dtype == torch.float32
    oracle.check(numpy(out), reference, name(dtype))
    oracle.check_lse(lse.cpu().numpy(), sums, name(dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=name)
def test_strides(randn, dtype):
    """(batch, heads, seqlen, headdim) in memory, slices of one projection, and transposed rows."""
    qkv = randn(2, 30, 3, 4, 64, dtype=dtype)
    q, k, v = qkv.unbind(2)
    reference = oracle.batch(*map(numpy, (q, k, v)))[0]
    oracle.check(numpy(raceline.attention(q, k, v)), reference, name(dtype))
    heads_first = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v)]
    oracle.check(numpy(raceline.attention(*heads_first)), reference, name(dtype))
    columns = [x.transpose(1, 3).contiguous().transpose(1, 3) for x in (q, k, v)]
    oracle.check(numpy(raceline.attention(*columns)), reference, name(dtype))


def mirrored(x):
    """The same numbers, kept with the opposite sign and a bit that says so."""
    return torch.complex(torch.zeros_like(x), -x).conj().imag


def test_two_ways_of_reading_agree(randn, device, monkeypatch):
    """DLPack's exchange in C, where this PyTorch has it, and addresses with strides."""
    library = raceline._tensors.library_of("q", randn(1))
    exchange = "__dlpack_c_exchange_api__" in vars(torch.Tensor)
    assert bool(library.exchanged) == exchange
    q, k, v = randn(1, 9, 4, 64), randn(1, 20, 2, 64), randn(1, 20, 2, 64)
    inputs = {
        "plain": (q, k, v),
        "parameters": tuple(torch.nn.Parameter(x, requires_grad=False) for x in (q, k, v)),
        "negated": tuple(map(mirrored, (q, k, v))),
        "transposed": tuple(x.transpose(1, 3).contiguous().transpose(1, 3) for x in (q, k, v)),
        "a slice": (q[:, 3:, ::2], k[:, ::2], v[:, ::2]),
    }
    assert inputs["negated"][0].is_neg()
    if exchange:
        assert raceline._tensors.view("q", q) is q, "read by its attributes all the same"
    for what, given in inputs.items():
        by_exchange = raceline.attention(*given, return_lse=True)
        with monkeypatch.context() as without:
            without.setattr(library, "exchanged", frozenset())
            without.setattr(raceline._core, "all_addressable", lambda *tensors: False)
            assert isinstance(raceline._tensors.view("q", q), tuple)
            by_address = raceline.attention(*given, return_lse=True)
        for one, other in zip(by_exchange, by_address):
            assert torch.equal(one, other), what
    oracle.check(numpy(raceline.attention(*inputs["negated"])),
                 oracle.batch(*map(numpy, (q, k, v)))[0], "float32")


def test_one_that_must_be_copied_is_found_among_those_that_need_not(randn):
    """decode looks at all its tensors at once."""
    q, k, v = randn(1, 1, 4, 64), randn(1, 20, 2, 64), randn(1, 20, 2, 64)
    expected = raceline.decode(q, k, v)
    addressable = raceline._core.all_addressable
    assert addressable(q, None, k) == ("__dlpack_c_exchange_api__" in vars(torch.Tensor))
    reversed_heads = v.transpose(2, 3).contiguous().transpose(2, 3)
    for odd in (reversed_heads, mirrored(v)):
        assert not addressable(q, k, odd)
        torch.testing.assert_close(raceline.decode(q, k, odd), expected, rtol=0, atol=0)


def test_works_beside_the_current_stream(randn, device):
    """The stream that PyTorch says is current is the one that work goes to."""
    if device == "cpu":
        assert raceline._core.current_stream(randn(2)) is None
        return
    with torch.cuda.stream(torch.cuda.Stream()):
        assert raceline._core.current_stream(randn(2)) == torch.cuda.current_stream().cuda_stream


def test_ragged_and_sinks(randn, device):
    cu_q, cu_k = (torch.tensor(s, dtype=torch.int32) for s in ([0, 3, 20], [0, 10, 31]))
    q, k, v, sinks = randn(20, 4, 64), randn(31, 2, 64), randn(31, 2, 64), randn(4)
    reference = oracle.ragged(*map(numpy, (q, k, v)), cu_q, cu_k, causal=True, sinks=numpy(sinks))
    for place in {"cpu", device}:
        out = raceline.attention(q, k, v, cu_seqlens_q=cu_q.to(place), cu_seqlens_k=cu_k.to(place),
                                 causal=True, sinks=sinks)
        oracle.check(numpy(out), reference[0])


@pytest.mark.parametrize("kv_dtype", [torch.bfloat16, torch.float8_e4m3fn], ids=name)
def test_paged_decode(randn, device, kv_dtype):
    q = randn(3, 1, 8, 64, dtype=torch.bfloat16)
    k, v = (randn(12, 16, 2, 64).to(kv_dtype) for _ in "kv")
    table = torch.tensor([[0, 5, 2, 7], [9, 1, 0, 0], [3, 4, 6, 8]], dtype=torch.int32)
    seqlens = torch.tensor([64, 18, 47], dtype=torch.int32)
    scales = [torch.rand(3, 2).to(device) + 0.5 for _ in "kv"] if kv_dtype.itemsize == 1 else None
    extra = dict(zip(("k_scale", "v_scale"), scales)) if scales else {}
    out = raceline.decode(q, k, v, block_table=table.to(device), seqlens=seqlens.to(device), **extra)
    outs = []
    for b, length in enumerate(seqlens.tolist()):
        pages = table[b, : -(-length // 16)].tolist()
        keys, values = (numpy(c)[pages].reshape(-1, 2, 64)[:length] for c in (k, v))
        if scales:
            keys, values = (x * numpy(s)[b][:, None] for x, s in zip((keys, values), scales))
        outs.append(oracle.one_sequence(numpy(q)[b], keys, values)[0])
    oracle.check(numpy(out), np.stack(outs), "bfloat16")


def test_predict_takes_tensors(randn, device):
    q, k = randn(1, 64, 8, 64, dtype=torch.bfloat16), randn(1, 64, 2, 64, dtype=torch.bfloat16)
    p = raceline.predict(q, k, k, causal=True)
    if device == "cpu":
        assert p.device == "cpu"
    again = raceline.predict(tuple(q.shape), tuple(k.shape), dtype=torch.bfloat16, causal=True,
                             device="cpu" if device == "cpu" else None)
    assert again is p


def test_numpy_may_stand_beside(randn, device):
    if device == "cuda":
        pytest.skip("NumPy has no memory there")
    q, k = randn(1, 8, 2, 64), randn(1, 8, 2, 64).numpy()
    out = raceline.attention(q, k, k)
    assert isinstance(out, torch.Tensor)
    oracle.check(numpy(out), oracle.batch(numpy(q), k, k)[0])


def refusals(randn):
    x = randn(1, 8, 2, 64)
    call = raceline.attention
    return [
        ("k", ValueError, lambda: call(x, x.half(), x)),
        ("q", TypeError, lambda: call(x.double(), x, x)),
        ("q", TypeError, lambda: call(x.long(), x, x)),
        ("q", TypeError, lambda: call(x.to(torch.complex64), x, x)),
        ("k", TypeError, lambda: call(x, [1], x)),
        ("v", ValueError, lambda: call(x, x, x[:, :3])),
        ("k", ValueError, lambda: call(x, x.to("meta"), x)),
        ("q", ValueError, lambda: call(x.to_sparse(), x, x)),
        ("causal", TypeError, lambda: call(x, x, x, causal=1)),
        ("window", TypeError, lambda: call(x, x, x, window="ab")),
        ("window", TypeError, lambda: call(x, x, x, window=(1.5, 2))),
        ("window", ValueError, lambda: call(x, x, x, window=(1, 2, 3))),
        ("scale", TypeError, lambda: call(x, x, x, scale="1")),
        ("scale", ValueError, lambda: call(x, x, x, scale=0.0)),
        ("backend", TypeError, lambda: call(x, x, x, backend=1)),
        ("max_seqlen", TypeError, lambda: raceline.decode(x, x, x, max_seqlen="1")),
    ]


@pytest.mark.parametrize("watched", [False, True], ids=["call", "operator"])
def test_refusals_name_the_argument(randn, watched, monkeypatch):
    if watched:
        monkeypatch.setattr(raceline.torch, "nobody_watches", lambda *tensors: False)
    for argument, kind, call in refusals(randn):
        with pytest.raises(kind, match=rf"\b{argument}\b"):
            call()


def test_mixed_devices(randn, device):
    if device == "cpu":
        pytest.skip("needs a GPU")
    x = randn(1, 8, 2, 64)
    for at, argument in enumerate("qkv"):
        tensors = [x.cpu() if i == at else x for i in range(3)]
        with pytest.raises(ValueError, match="k is on" if at == 0 else f"{argument} is on"):
            raceline.attention(*tensors)


@pytest.mark.parametrize("dtype", DTYPES, ids=name)
@pytest.mark.parametrize("tokens", [1, 5, 16])
@pytest.mark.parametrize("paged", [False, True], ids=["contiguous", "paged"])
def test_decode_of_one_to_sixteen_tokens(randn, device, dtype, tokens, paged):
    """Lengths and block table on the tensors' device, compiled and not."""
    lengths = torch.tensor([96, 16, 61], dtype=torch.int32, device=device)
    q = randn(3, tokens, 8, 64, dtype=dtype)
    if paged:
        k, v = randn(20, 16, 2, 64, dtype=dtype), randn(20, 16, 2, 64, dtype=dtype)
        pages = torch.randperm(20, generator=torch.Generator().manual_seed(1))[:18].int()
        table = pages.reshape(3, 6).to(device)
    else:
        k, v, table = randn(3, 96, 2, 64, dtype=dtype), randn(3, 96, 2, 64, dtype=dtype), None
    options = {"block_table": table, "seqlens": lengths, "max_seqlen": 96, "causal": True}
    reference, sums = oracle.cached(
        *map(numpy, (q, k, v)), lengths.tolist(), None if table is None else table.cpu().numpy(),
        causal=True)

    def call(q, k, v):
        return raceline.decode(q, k, v, return_lse=True, **options)

    torch.compiler.reset()  # of the other cases of this test, whose code is the same
    for run in (call, torch.compile(call, fullgraph=True, backend="aot_eager")):
        out, lse = run(q, k, v)
        assert out.dtype == dtype and out.device == q.device
        oracle.check(numpy(out), reference, name(dtype))
        oracle.check_lse(lse.cpu().numpy(), sums, name(dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=name)
def test_combine(randn, dtype):
    from test_combine import float64

    outs, lses = randn(4, 7, 6, 64, dtype=dtype), randn(4, 7, 6)
    lses[2, 3] = -torch.inf
    outs[2, 3] = torch.nan
    out, lse = raceline.combine(outs, lses, return_lse=True)
    reference, sums = float64(numpy(outs), numpy(lses))
    assert out.dtype == dtype and out.device == outs.device and lse.dtype == torch.float32
    oracle.check(numpy(out), reference, name(dtype))
    oracle.check_lse(lse.cpu().numpy(), sums)
    narrow = raceline.combine(outs, lses, dtype=torch.bfloat16)
    assert narrow.dtype == torch.bfloat16
    oracle.check(numpy(narrow), reference, "bfloat16")
    with pytest.raises(TypeError, match="dtype is a str; it must be None or a torch.dtype"):
        raceline.combine(outs, lses, dtype="bf16")
    with pytest.raises(NotImplementedError, match="no backward kernel"):
        raceline.combine(outs.requires_grad_(), lses).sum().backward()


def test_combine_compiles_without_a_graph_break(randn):
    outs, lses = randn(4, 7, 6, 64), randn(4, 7, 6)

    def block(outs, lses):
        out, lse = raceline.combine(outs * 2, lses, dtype=torch.bfloat16, return_lse=True)
        return out + 1, lse.exp()

    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    for mine, theirs in zip(compiled(outs, lses), block(outs, lses)):
        torch.testing.assert_close(mine, theirs)


def test_a_tree_of_new_tokens(randn, device):
    q, k, v = randn(2, 4, 4, 64), randn(2, 30, 2, 64), randn(2, 30, 2, 64)
    tree = torch.tensor([[1, 3, 5, 9], [1, 2, 0, 15]], dtype=torch.int32, device=device)
    out = raceline.decode(q, k, v, tree=tree)
    reference = oracle.cached(*map(numpy, (q, k, v)), [30, 30], tree=numpy(tree))
    oracle.check(numpy(out), reference[0])
    compiled = torch.compile(lambda *x: raceline.decode(*x[:3], tree=x[3]), fullgraph=True,
                             backend="aot_eager")
    assert torch.equal(compiled(q, k, v, tree), out)


@pytest.mark.parametrize("dtype", DTYPES, ids=name)
def test_different_numbers_of_new_tokens(randn, device, dtype):
    q, k, v = randn(7, 8, 64, dtype=dtype), *(randn(3, 96, 2, 64, dtype=dtype) for _ in "kv")
    sums, lengths = (torch.tensor(x, dtype=torch.int32, device=device)
                     for x in ([0, 5, 5, 7], [96, 16, 61]))
    reference, lses = oracle.cached_packed(*map(numpy, (q, k, v)), sums.tolist(), lengths.tolist(),
                                           causal=True)

    def call(q, k, v, sums):
        return raceline.decode(q, k, v, seqlens=lengths, max_seqlen=96, causal=True,
                               cu_seqlens_q=sums, max_seqlen_q=5, return_lse=True)

    torch.compiler.reset()
    for run in (call, torch.compile(call, fullgraph=True, backend="aot_eager")):
        out, lse = run(q, k, v, sums)
        assert out.dtype == dtype and out.device == q.device
        oracle.check(numpy(out), reference, name(dtype))
        oracle.check_lse(lse.cpu().numpy(), lses, name(dtype))


def test_gradients_raise_and_their_absence_costs_nothing(randn):
    x = randn(1, 8, 2, 64)
    leaf = x.clone().requires_grad_()
    out = raceline.attention(leaf, x, x)
    assert torch.equal(out, raceline.attention(x, x, x))
    with pytest.raises(NotImplementedError, match="no backward kernel"):
        out.sum().backward()
    with pytest.raises(NotImplementedError, match="no backward kernel"):
        raceline.decode(x[:, :1], x, leaf).sum().backward()
    with torch.no_grad():
        assert not raceline.attention(leaf, x, x).requires_grad


def samples(randn, device, dtype=torch.bfloat16):
    """Arguments of the operators, in the order of their schemas."""
    q, k, v = randn(2, 24, 4, 64, dtype=dtype), *(randn(2, 40, 2, 64, dtype=dtype) for _ in "kv")
    sums = torch.tensor([0, 7, 24], dtype=torch.int32, device=device)
    flat = (q[0], k[0, :24], v[0, :24])
    lengths = torch.tensor([40, 11], dtype=torch.int32, device=device)
    table = torch.tensor([[0, 2], [1, 1]], dtype=torch.int32, device=device)
    pages = (randn(3, 32, 2, 64, dtype=dtype), randn(3, 32, 2, 64, dtype=dtype))
    attention, decode = torch.ops.raceline.attention, torch.ops.raceline.decode
    combine = torch.ops.raceline.combine
    rest = (False, None, None, None)
    return [
        (attention, (q, k, v, None, None, None, *rest, False, None)),
        (attention, (q, k, v, randn(4), None, None, True, [8, 2], 0.2, 3.0, True, None)),
        (attention, (*flat, None, sums, sums, True, None, None, None, True, None)),
        (decode, (q[:, :1], k, v, None, None, None, None, None, None, *rest, False, None, None)),
        (decode, (q[:, :2], k, v, None, lengths, 40, None, None, None, True, [9, 0], 0.1, 2.0, True,
                  None, None)),
        (decode, (q[:, :1], *pages, table, lengths, 64, None, None, None, *rest, True, None, False)),
        (decode, (q[:, :3], k, v, None, lengths, 40, None, None, None, *rest, True, None, None,
                  torch.tensor([[1, 3, 5], [1, 2, 7]], dtype=torch.int32, device=device))),
        (decode, (q[0], k, v, None, lengths, 40, None, None, None, True, None, None, None, True, None,
                  None, None, sums, 17)),
        (combine, (randn(3, 9, 4, 64, dtype=dtype), randn(3, 9, 4), None, None, False)),
        (combine, (randn(3, 9, 4, 64), randn(3, 9, 4), randn(4), torch.float16, True)),
    ]


def test_opcheck(randn, device):
    for operator, arguments in samples(randn, device):
        torch.library.opcheck(operator, arguments)


def test_the_operator_is_there_for_those_who_look(randn, device):
    """Modes and transformations see an operator, whose answer is the plain call's."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    q, k = randn(1, 9, 4, 64), randn(1, 9, 2, 64)
    plain = raceline.attention(q, k, k)
    assert torch.equal(torch.ops.raceline.attention(q, k, k, *[None] * 3, False, *[None] * 3, False,
                                                    None)[0], plain)
    traced = make_fx(lambda q, k: raceline.attention(q, k, k))(q, k)
    assert "raceline.attention" in str(traced.graph) and torch.equal(traced(q, k), plain)
    with FakeTensorMode() as mode:
        fake = raceline.attention(mode.from_tensor(q), mode.from_tensor(k), mode.from_tensor(k))
        assert fake.shape == q.shape and type(fake) is not torch.Tensor
    subclass = raceline.attention(q.as_subclass(type("Named", (torch.Tensor,), {})), k, k)
    assert torch.equal(subclass.as_subclass(torch.Tensor), plain)


OPTIONS = [
    {"window": (3, 0)}, {"window": (None, 0), "softcap": 2}, {"window": [0, None], "scale": 1},
    {"causal": True, "window": (4, -1), "scale": 0.4, "return_lse": True}, {"backend": "cpu_flash"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_operator_takes_every_option(randn, device, options, monkeypatch):
    if device == "cuda" and "backend" in options:
        options = {"backend": "simt"}
    q, k = randn(2, 9, 4, 64), randn(2, 12, 2, 64)
    calls = [lambda: raceline.attention(q, k, k, **options),
             lambda: raceline.decode(q, k, k, max_seqlen=11, **options)]
    plain = [call() for call in calls]
    monkeypatch.setattr(raceline.torch, "nobody_watches", lambda *tensors: False)
    for call, expected in zip(calls, plain):
        torch.testing.assert_close(call(), expected, rtol=0, atol=0)


def test_compiles_without_a_graph_break(randn, device):
    q, k = randn(1, 32, 4, 64), randn(1, 32, 2, 64)

    def block(q, k):
        out, lse = raceline.attention(q * 2, k, k, causal=True, window=(9, None), return_lse=True)
        step = raceline.decode(out[:, -1:], k, k)
        return step + 1, lse.exp()

    # Inductor needs a compiler that CI may lack; what is tested here is the tracing.
    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    for mine, theirs in zip(compiled(q, k), block(q, k)):
        torch.testing.assert_close(mine, theirs)


def test_exports(randn):
    class Block(torch.nn.Module):
        def forward(self, q, k):
            return raceline.attention(q, k, k, causal=True)

    q, k = randn(1, 32, 4, 64), randn(1, 32, 2, 64)
    program = torch.export.export(Block(), (q, k))
    assert "raceline.attention" in str(program.graph)
    torch.testing.assert_close(program.module()(q, k), Block()(q, k))


def test_no_leak_over_ten_thousand_calls(randn, device):
    from test_process import grown_bytes

    x = randn(1, 32, 2, 64)
    assert grown_bytes(lambda: raceline.attention(x, x, x, return_lse=True)) < 2_000_000
    if device == "cuda":
        before = torch.cuda.memory_allocated()
        for _ in range(100):
            raceline.attention(x, x, x)
        assert torch.cuda.memory_allocated() == before
