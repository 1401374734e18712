# SPDX-License-Identifier: Apache-2.0
"""A small Llama with random weights: raceline beside the eager implementation."""

import copy

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
import raceline.transformers  # noqa: E402

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
# Relative RMS of the logits, by storage type: two implementations that each round at every layer.
BOUND = {torch.float32: 1e-5, torch.bfloat16: 3e-2}


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def pair(device, dtype=torch.float32, kind="Llama", **changes):
    """The same random weights, once eager, once with raceline."""
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=512, hidden_size=256, intermediate_size=512, num_hidden_layers=4,
        num_attention_heads=8, num_key_value_heads=2, max_position_embeddings=512,
        # The default of 0.02 leaves logits so flat that wrong attention would hardly show.
        initializer_range=0.1, **changes,
    )
    torch.manual_seed(4711)
    eager = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    eager = eager.to(device, dtype).eval()
    ours = copy.deepcopy(eager)
    ours.set_attn_implementation("raceline")
    return eager, ours


def tokens(device, batch=2, length=37):
    generator = torch.Generator().manual_seed(7)
    return torch.randint(3, 512, (batch, length), generator=generator).to(device)


def relative(a, b):
    return ((a.double() - b.double()).norm() / b.double().norm()).item()


def test_from_config_takes_the_name(device):
    eager, _ = pair(device)
    model = transformers.AutoModelForCausalLM.from_config(
        eager.config, attn_implementation="raceline"
    )
    assert model.config._attn_implementation == "raceline"


@torch.no_grad()
@pytest.mark.parametrize("dtype", BOUND, ids=str)
def test_prefill(device, dtype):
    eager, ours = pair(device, dtype)
    ids = tokens(device)
    mine, theirs = ours(ids).logits, eager(ids).logits
    assert relative(mine, theirs) < BOUND[dtype]
    # The bound means something: a model that forgets what stands 8 tokens back is far outside.
    cut = eager(ids[:, 8:]).logits
    assert relative(cut, theirs[:, 8:]) > 10 * BOUND[dtype]


@torch.no_grad()
def test_a_step_with_its_cache(device):
    eager, ours = pair(device)
    ids = tokens(device)
    steps = []
    for model in (ours, eager):
        cache = model(ids[:, :-3], use_cache=True).past_key_values
        steps.append(model(ids[:, -3:], past_key_values=cache).logits)
    assert relative(*steps) < BOUND[torch.float32]
    assert relative(steps[0], ours(ids).logits[:, -3:]) < BOUND[torch.float32]


def first_divergence(mine, theirs, model):
    """Nothing, or the step at which two greedy answers part and the gap between the two tokens'
    logits there, in units of that row's RMS: a tie that rounding may decide either way."""
    for row, other in zip(mine, theirs):
        apart = (row != other).nonzero()
        if len(apart):
            at = int(apart[0])
            logits = model(row[None, :at]).logits[0, -1].float()
            gap = (logits[row[at]] - logits[other[at]]).abs() / logits.square().mean().sqrt()
            return at, gap.item()
    return None


@torch.no_grad()
@pytest.mark.parametrize("cache", [None, "static"])
@pytest.mark.parametrize("dtype", BOUND, ids=str)
def test_generates_the_same_64_tokens(device, dtype, cache):
    eager, ours = pair(device, dtype)
    ids = tokens(device)
    options = {"max_new_tokens": 64, "min_new_tokens": 64, "do_sample": False, "pad_token_id": 0,
               "cache_implementation": cache, "disable_compile": True}
    mine, theirs = (model.generate(ids, **options) for model in (ours, eager))
    assert mine.shape == (2, 37 + 64)
    apart = first_divergence(mine, theirs, eager)
    print(device, dtype, cache, "the same 64 tokens" if apart is None else
          f"apart at token {apart[0]}, where the two logits lie {apart[1]:.1e} of their RMS apart")
    assert apart is None or apart[1] < BOUND[dtype], f"step {apart[0]}: logits {apart[1]} apart"


@torch.no_grad()
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding(device, side):
    eager, ours = pair(device)
    ids = tokens(device, batch=3)
    mask = torch.ones_like(ids)
    for row, padding in enumerate((0, 5, 20)):
        where = slice(0, padding) if side == "left" else slice(ids.shape[1] - padding, None)
        mask[row, where] = 0
    mine, theirs = (model(ids, attention_mask=mask).logits for model in (ours, eager))
    assert relative(mine[mask.bool()], theirs[mask.bool()]) < BOUND[torch.float32]
    if side == "left":
        options = {"attention_mask": mask, "max_new_tokens": 16, "do_sample": False,
                   "pad_token_id": 0}
        mine, theirs = (model.generate(ids, **options) for model in (ours, eager))
        assert torch.equal(mine, theirs)


@torch.no_grad()
def test_sliding_window(device):
    eager, ours = pair(device, kind="Mistral", sliding_window=9)
    ids = tokens(device)
    assert relative(ours(ids).logits, eager(ids).logits) < BOUND[torch.float32]
    options = {"max_new_tokens": 24, "do_sample": False, "pad_token_id": 0}
    assert torch.equal(ours.generate(ids, **options), eager.generate(ids, **options))


@torch.no_grad()
def test_packed_sequences(device):
    eager, ours = pair(device)
    ids = tokens(device, batch=1, length=30)
    positions = torch.cat([torch.arange(11), torch.arange(19)])[None].to(device)
    mine = ours(ids, position_ids=positions, use_cache=False).logits
    alone = torch.cat([eager(ids[:, :11]).logits, eager(ids[:, 11:]).logits], dim=1)
    assert relative(mine, alone) < BOUND[torch.float32]


def test_refusals(device):
    _, ours = pair(device)
    ids = tokens(device)
    with pytest.raises(ValueError, match="attention_mask has 4 dimensions"):
        ours(ids, attention_mask=torch.ones(2, 1, 37, 37, dtype=torch.bool, device=device))
    ours.train()
    for layer in ours.model.layers:
        layer.self_attn.attention_dropout = 0.1
    with pytest.raises(ValueError, match="dropout is 0.1"):
        ours(ids)
