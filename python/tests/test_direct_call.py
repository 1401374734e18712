# SPDX-License-Identifier: Apache-2.0
"""decode over PyTorch's plain tensors is one call of the extension. It must not differ from the steps
that make up any other call: in answers, in errors, and in what it leaves to them."""

import pytest

torch = pytest.importorskip("torch")
import raceline  # noqa: E402
from raceline import _core  # noqa: E402

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
EXCHANGE = "__dlpack_c_exchange_api__" in vars(torch.Tensor)


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def normal(device, *shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(4711)
    return torch.randn(shape, generator=generator).to(device, dtype)


def usual(device, dtype=torch.float32, batch=2, tokens=1, heads=4, headdim=64, headdim_v=64):
    return {
        "q": normal(device, batch, tokens, heads, headdim, dtype=dtype),
        "k_cache": normal(device, batch, 32, 2, headdim, dtype=dtype),
        "v_cache": normal(device, batch, 32, 2, headdim_v, dtype=dtype),
    }


def integers(device, *values, dtype=torch.int32):
    return torch.tensor(values, dtype=dtype, device=device)


def columns(x):
    """The same numbers; the last dimension is not contiguous."""
    return x.transpose(1, 3).contiguous().transpose(1, 3)


def negated(x):
    return torch.complex(torch.zeros_like(x), -x).conj().imag


def packed(device):
    return {**usual(device), "q": normal(device, 7, 4, 64), "cu_seqlens_q": integers(device, 0, 5, 7),
            "max_seqlen_q": 5}


def paged(device):
    return {**usual(device), "k_cache": normal(device, 6, 16, 2, 64),
            "v_cache": normal(device, 6, 16, 2, 64), "block_table": integers(device, [3, 1], [0, 5]),
            "seqlens": integers(device, 30, 17), "max_seqlen": 32}


def taken(device):
    """Calls that the extension makes alone, each unlike the one before it."""
    x = usual(device)
    e4m3 = {name: x[name].to(torch.float8_e4m3fn) for name in ("k_cache", "v_cache")}
    scales = {name: normal(device, 2, 2).abs() + 1 for name in ("k_scale", "v_scale")}
    tree = {**usual(device, tokens=3), "tree": integers(device, [1, 3, 5], [1, 2, 7])}
    return {
        "plain": x,
        "float16": usual(device, torch.float16),
        "bfloat16": usual(device, torch.bfloat16),
        "another batch": usual(device, batch=3),
        "more tokens": {**usual(device, tokens=5), "causal": True},
        "other head dims": usual(device, headdim=32),
        "narrow values": usual(device, headdim_v=32),
        "no sequence": usual(device, batch=0),
        "every other head": {**x, "q": normal(device, 2, 1, 8, 64)[:, :, ::2]},
        "heads first": {**x, "k_cache": x["k_cache"].transpose(1, 2).contiguous().transpose(1, 2)},
        "a parameter": {**x, "q": torch.nn.Parameter(x["q"], requires_grad=False)},
        "with sums": {**x, "return_lse": True},
        "with options": {**x, "window": (8, 0), "scale": 0.2, "softcap": 3, "return_lse": True},
        "sinks": {**x, "sinks": normal(device, 4)},
        "lengths": {**x, "seqlens": integers(device, 3, 29), "max_seqlen": 30},
        "pages": paged(device),
        "e4m3": {**x, **e4m3, **scales, "q": x["q"].bfloat16()},
        "a tree": tree,
        "packed": packed(device),
    }


def left(device):
    """Calls that are left to the steps: for a copy, the operator, or an error that comes first."""
    x = usual(device)
    return {
        "columns": {**x, "v_cache": columns(x["v_cache"])},
        "negated": {**x, "k_cache": negated(x["k_cache"])},
        "a subclass": {**x, "v_cache": x["v_cache"].as_subclass(type("Named", (torch.Tensor,), {}))},
        "gradients": {**x, "q": x["q"].clone().requires_grad_()},
        "on no device": {**x, "k_cache": x["k_cache"].to("meta")},
        "sparse": {**x, "q": x["q"].to_sparse()},
        "no tensor": {**x, "seqlens": [3, 29]},
        "return_lse": {**x, "return_lse": 1},
        "nothing for q": {**x, "q": None},
    }


def refused(device):
    """Calls that the extension refuses."""
    x = usual(device)
    return {
        "k_cache": {**x, "k_cache": None},
        "v_cache": {**x, "v_cache": x["v_cache"].half()},
        "q of float64": {**x, "q": x["q"].double()},
        "q of e4m3": {**x, "q": x["q"].to(torch.float8_e4m3fn)},
        "q of three dimensions": {**x, "q": x["q"][0]},
        "heads": {**x, "q": normal(device, 2, 1, 3, 64)},
        "another batch": {**x, "k_cache": x["k_cache"][:1]},
        "seqlens of int64": {**x, "seqlens": integers(device, 3, 29, dtype=torch.int64)},
        "too few lengths": {**x, "seqlens": integers(device, 3)},
        "too long": {**x, "seqlens": integers(device, 3, 99), "checked": True},
        "max_seqlen": {**x, "max_seqlen": 33},
        "max_seqlen as text": {**x, "max_seqlen": "1"},
        "causal": {**x, "causal": 1},
        "window": {**x, "window": (1, 2, 3)},
        "scale": {**x, "scale": 0.0},
        "backend": {**x, "backend": "nobody"},
        "checked": {**x, "checked": 3},
        "sums": {**packed(device), "cu_seqlens_q": integers(device, 0, 5, 6), "checked": True},
        "a page": {**paged(device), "block_table": integers(device, [3, 1], [0, 6]), "checked": True},
        "a table": {**paged(device), "block_table": integers(device, [3, 1])},
        "a bit": {**x, "tree": integers(device, [1], [2]), "checked": True},
        "two faults": {**x, "k_cache": x["k_cache"][:, :, :1], "max_seqlen": 40},
    }


def answer(arguments):
    """The outputs; or the kind and text of the error."""
    try:
        result = raceline.decode(**arguments)
    except Exception as error:
        return type(error), str(error)
    return result if isinstance(result, tuple) else (result,)


def agree(one, other):
    if not all(isinstance(x, torch.Tensor) for x in (*one, *other)):
        return one == other
    return len(one) == len(other) and all(
        type(x) is type(y) and x.dtype == y.dtype and x.stride() == y.stride() and torch.equal(x, y)
        for x, y in zip(one, other))


@pytest.fixture
def compare(monkeypatch, device):
    """compare(arguments, "taken" or another word): of the call and its steps, after a usual call."""
    direct, whether = _core.decode, []

    def recorded(*arguments):
        whether.append("refused")
        done = direct(*arguments)
        whether[-1] = "left" if done is None else "taken"
        return done

    def check(what, arguments, expected):
        raceline.decode(**usual(device))
        whether.clear()
        monkeypatch.setattr(_core, "decode", recorded)
        mine = answer(arguments)
        monkeypatch.setattr(_core, "decode", lambda *arguments: None)
        by_steps = answer(arguments)
        monkeypatch.setattr(_core, "decode", direct)
        assert agree(mine, by_steps), f"{what}: {mine} and {by_steps}"
        # Through the operator there may be a second time, which takes what the first could not.
        assert whether[:1] in ([], [expected if EXCHANGE else "left"]), f"{what}: {whether}"
        return mine

    return check


def test_the_same_answers(compare, device):
    for what, arguments in taken(device).items():
        assert isinstance(compare(what, arguments, "taken")[0], torch.Tensor), what


def test_what_is_left_to_the_steps(compare, device):
    for what, arguments in left(device).items():
        compare(what, arguments, "left")


def test_the_same_errors(compare, device):
    for what, arguments in refused(device).items():
        kind, _ = compare(what, arguments, "refused")
        assert issubclass(kind, (TypeError, ValueError)), what


def test_another_device(compare, device):
    if len(DEVICES) == 1:
        pytest.skip("needs a GPU")
    other, = set(DEVICES) - {device}
    for name in ("q", "k_cache", "v_cache"):
        arguments = usual(device)
        arguments[name] = arguments[name].to(other)
        assert compare(name, arguments, "refused")[0] is ValueError


def test_it_follows_what_pytorch_says_of_gradients(device):
    """The same tensors, with gradients wanted and not."""
    x = usual(device)
    x["v_cache"].requires_grad_()
    with torch.no_grad():
        assert not raceline.decode(**x).requires_grad
    assert raceline.decode(**x).requires_grad
    with torch.inference_mode():
        assert not raceline.decode(**x).requires_grad


def test_outputs_are_fresh(device):
    first, second = (raceline.decode(**usual(device)) for _ in range(2))
    assert first.data_ptr() != second.data_ptr() and torch.equal(first, second)
