# SPDX-License-Identifier: Apache-2.0
"""attn_implementation="raceline" for Hugging Face models.

    import raceline.transformers
    model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="raceline")

Importing registers the implementation. It serves prefill and generation with the model's own cache
(dynamic or static), grouped heads, sliding windows, softcap, sinks, packed batches and padded ones.
Tokens of padded ones are packed first, which copies the cache in every layer. Attention weights are not
returned, and there is no dropout and no backward pass.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface

from . import torch as operators

NAME = "raceline"


def attention_mask(
    batch_size: int, q_length: int, kv_length: int, q_offset: Any = 0, kv_offset: int = 0,
    attention_mask: torch.Tensor | None = None, **kwargs: Any,
) -> torch.Tensor | None:
    """The mask in short: None if every key counts, else (batch, keys) bool, true for those that do.
    Causality and windows are options of the kernel. Keys past its end are unused cache."""
    if attention_mask is None:
        used = int(q_offset) + q_length - kv_offset
        if used >= kv_length:
            return None
        return torch.ones(batch_size, used, dtype=torch.bool, device=kwargs.get("device"))
    mask = attention_mask[:, -kv_length:].bool()
    return None if mask.shape[1] == kv_length and bool(mask.all()) else mask


def attention_forward(
    module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
    attention_mask: torch.Tensor | None, scaling: float | None = None, dropout: float = 0.0,
    is_causal: bool | None = None, sliding_window: int | None = None, softcap: float | None = None,
    s_aux: torch.Tensor | None = None, position_ids: torch.Tensor | None = None,
    cu_seq_lens_q: torch.Tensor | None = None, cu_seq_lens_k: torch.Tensor | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """query, key, value: (batch, heads, tokens, headdim) -> (batch, tokens, heads, headdim), None.

    Raises ValueError for what no option of the kernel can express: dropout, or a mask with four
    dimensions."""
    if dropout:
        raise ValueError(f"dropout is {dropout}; raceline has none: set attention_dropout to 0")
    if attention_mask is not None and attention_mask.dim() != 2:
        raise ValueError(
            f"attention_mask has {attention_mask.dim()} dimensions; raceline takes a padding mask "
            '(batch, tokens): use attn_implementation="eager" for others'
        )
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    options: dict[str, Any] = {"causal": bool(causal), "scale": scaling, "softcap": softcap}
    if sliding_window is not None:
        options["window"] = (sliding_window - 1, 0 if causal else sliding_window - 1)
    if s_aux is not None:
        options["sinks"] = s_aux.float()
    # Layer norms in float32 may have cast what they touched; the cache holds the model's dtype.
    q = query.transpose(1, 2).to(value.dtype)
    k, v = key.transpose(1, 2).to(value.dtype), value.transpose(1, 2)
    if attention_mask is not None and attention_mask.shape[1] < k.shape[1]:
        k, v = k[:, : attention_mask.shape[1]], v[:, : attention_mask.shape[1]]
    if attention_mask is not None and not bool(attention_mask.all()):
        return _padded(q, k, v, attention_mask, options), None
    if cu_seq_lens_q is None and position_ids is not None and _is_packed(q, k, position_ids):
        starts = (position_ids[0] == 0).nonzero().flatten()
        cu_seq_lens_q = torch.nn.functional.pad(starts, (0, 1), value=q.shape[1])
    if cu_seq_lens_q is not None:
        sums_q = cu_seq_lens_q.int()
        sums_k = sums_q if cu_seq_lens_k is None else cu_seq_lens_k.int()
        out = operators.attention(
            q[0], k[0], v[0], cu_seqlens_q=sums_q, cu_seqlens_k=sums_k, **options
        )
        return out[None], None
    return operators.attention(q, k, v, **options), None


def _is_packed(q: torch.Tensor, k: torch.Tensor, position_ids: torch.Tensor) -> bool:
    """Whether one row holds several sequences end to end, each with positions from 0."""
    if q.shape[0] != 1 or q.shape[1] == 1 or q.shape[1] != k.shape[1]:
        return False
    return position_ids.dim() == 2 and bool((position_ids[0, 1:] == 0).any())


def _padded(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor, options: dict[str, Any]
) -> torch.Tensor:
    """Packs the tokens that count, attends, and puts the rows back; padding gets zeros."""
    mask_q = mask[:, -q.shape[1] :]
    out = q.new_zeros((*q.shape[:-1], v.shape[-1]))
    out[mask_q] = operators.attention(
        q[mask_q], k[mask], v[mask], cu_seqlens_q=_prefix_sums(mask_q),
        cu_seqlens_k=_prefix_sums(mask), **options,
    )
    return out


def _prefix_sums(mask: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.pad(mask.sum(-1).cumsum(0), (1, 0)).int()


AttentionInterface.register(NAME, attention_forward)
AttentionMaskInterface.register(NAME, attention_mask)
