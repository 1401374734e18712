# SPDX-License-Identifier: Apache-2.0
"""What only a GPU can show: streams, graphs, memory pools. Skipped without one."""

import numpy as np
import oracle
import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a GPU", allow_module_level=True)
import raceline  # noqa: E402


@pytest.fixture
def qkv():
    torch.manual_seed(4711)
    q = torch.randn(2, 300, 8, 128, device="cuda", dtype=torch.bfloat16)
    return [q, *(torch.randn(2, 300, 2, 128, device="cuda", dtype=torch.bfloat16) for _ in "kv")]


def test_the_current_stream_is_respected(qkv):
    """The inputs arrive late on a stream of their own; the call must wait for them there."""
    q, k, v = qkv
    late = torch.zeros_like(q)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        raceline.attention(late, k, v)  # loading a kernel for the first time may wait
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        late.copy_(q)
        out = raceline.attention(late, k, v)
        assert not stream.query(), "the call must not wait for the GPU"
    stream.synchronize()
    assert torch.equal(out, raceline.attention(q, k, v))


def capture(call):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        out = call()
    return graph, out


def test_graph_replay_of_attention_is_bit_equal(qkv):
    q, k, v = qkv
    graph, (out, lse) = capture(lambda: raceline.attention(q, k, v, causal=True, return_lse=True))
    for _ in range(3):
        q.normal_()
        out.fill_(float("nan"))
        graph.replay()
        mine, sums = raceline.attention(q, k, v, causal=True, return_lse=True)
        assert torch.equal(out, mine) and torch.equal(lse, sums)


def test_graph_replay_of_decode_follows_the_lengths(qkv):
    q, k, v = qkv
    step = q[:, :1].contiguous()
    lengths = torch.tensor([300, 17], device="cuda", dtype=torch.int32)
    graph, out = capture(lambda: raceline.decode(step, k, v, seqlens=lengths))
    for values in ([300, 17], [1, 250], [0, 128]):
        lengths.copy_(torch.tensor(values))
        graph.replay()
        assert torch.equal(out, raceline.decode(step, k, v, seqlens=lengths))
        reference = oracle.cached(*(x.double().cpu().numpy() for x in (step, k, v)), values)[0]
        oracle.check(out.double().cpu().numpy(), reference, "bfloat16")


def test_graph_replay_of_decode_follows_the_numbers_of_new_tokens(qkv):
    _, k, v = qkv
    steps = torch.randn(12, 8, 128, device="cuda", dtype=k.dtype)
    sums = torch.tensor([0, 5, 12], device="cuda", dtype=torch.int32)
    graph, out = capture(lambda: raceline.decode(steps, k, v, cu_seqlens_q=sums, causal=True))
    for values in ([0, 5, 12], [0, 12, 12], [0, 1, 12]):
        sums.copy_(torch.tensor(values))
        graph.replay()
        assert torch.equal(out, raceline.decode(steps, k, v, cu_seqlens_q=sums, causal=True))
        host = [x.double().cpu().numpy() for x in (steps, k, v)]
        reference = oracle.cached_packed(*host, values, [k.shape[1]] * 2, causal=True)[0]
        oracle.check(out.double().cpu().numpy(), reference, "bfloat16")
    wrong = torch.tensor([0, 5, 11], device="cuda", dtype=torch.int32)
    with pytest.raises(ValueError, match="cu_seqlens_q ends at 11"):
        raceline.decode(steps, k, v, cu_seqlens_q=wrong, causal=True, checked=True)


def test_a_graph_with_other_ragged_lengths_of_prefill():
    q, k, v = (torch.randn(300, heads, 128, device="cuda", dtype=torch.bfloat16) for heads in (8, 2, 2))
    sums = torch.tensor([0, 100, 300], device="cuda", dtype=torch.int32)

    def attend(sums, **bounds):
        return raceline.attention(q, k, v, cu_seqlens_q=sums, cu_seqlens_k=sums, causal=True, **bounds)

    graph, out = capture(lambda: attend(sums, max_seqlen_q=256, max_seqlen_k=256))
    for values in ([0, 100, 300], [0, 256, 300], [0, 44, 300], [0, 150, 300]):
        sums.copy_(torch.tensor(values))
        graph.replay()
        torch.testing.assert_close(out, attend(torch.tensor(values, dtype=torch.int32)))
    with pytest.raises(ValueError, match="max_seqlen_q is 100; the 300 tokens of q need a longer one"):
        attend(sums, max_seqlen_q=100, max_seqlen_k=256)


def test_compiled_with_cuda_graphs(qkv):
    q, k, v = qkv
    compiled = torch.compile(
        lambda q, k, v: raceline.attention(q, k, v, causal=True) * 2,
        fullgraph=True, mode="reduce-overhead",
    )
    expected = raceline.attention(q, k, v, causal=True) * 2
    for _ in range(4):
        torch.testing.assert_close(compiled(q, k, v).clone(), expected)


def test_what_the_stream_is_waited_for(qkv):
    q, k, v = qkv
    bad = torch.tensor([300, 9999], device="cuda", dtype=torch.int32)
    with pytest.raises(ValueError, match="seqlens"):
        raceline.decode(q[:, :1], k, v, seqlens=bad, checked=True)


def test_a_second_gpu(qkv):
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    there = [x.to("cuda:1") for x in qkv]
    out = raceline.attention(*there)
    assert out.device == there[0].device and torch.cuda.current_device() == 0
    assert torch.equal(out.to("cuda:0"), raceline.attention(*qkv))
    with pytest.raises(ValueError, match="k is on CUDA device 0"):
        raceline.attention(there[0], qkv[1], there[2])


def test_cupy(qkv):
    cupy = pytest.importorskip("cupy")
    q, k, v = (cupy.from_dlpack(x.float()) for x in qkv)
    for stream in (cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)):
        with stream:
            out, lse = raceline.attention(q, k, v, causal=True, return_lse=True)
            lengths = cupy.array([300, 5], "int32")
            step = raceline.decode(q[:, :1], k, v, seqlens=lengths)
        stream.synchronize()
        assert isinstance(out, cupy.ndarray)
        host = [cupy.asnumpy(x).astype(np.float64) for x in (q, k, v)]
        reference, sums = oracle.batch(*host, causal=True)
        oracle.check(cupy.asnumpy(out), reference)
        oracle.check_lse(cupy.asnumpy(lse), sums)
        reference = oracle.cached(host[0][:, :1], *host[1:], [300, 5])[0]
        oracle.check(cupy.asnumpy(step), reference)
