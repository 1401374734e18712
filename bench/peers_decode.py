# SPDX-License-Identifier: Apache-2.0
"""What serves decode over paged caches elsewhere: one token a sequence, of 16 bits or e4m3. As
peers_cuda.py."""

import torch

from peers_cuda import FlashInferModule


class FlashInferDecode(FlashInferModule):
    """FlashInfer's batch decode, planned once a problem (untimed): on the tensor cores where a group
    has several heads, which it advises, else on the CUDA cores."""

    paged = True
    name = label = "flashinfer_decode"
    backend = "BatchDecodeWithPagedKVCacheWrapper"

    def bind(self, problem, sets):
        p, first = problem, sets[0]
        wrapper = self._module.BatchDecodeWithPagedKVCacheWrapper(
            self.workspace(first.q.device), "NHD", use_tensor_cores=p.group > 1)
        starts = torch.arange(p.batch + 1, dtype=torch.int32, device=first.q.device) * p.pages
        last = torch.full_like(first.seqlens, p.seqlen_k - (p.pages - 1) * p.page_size)
        wrapper.plan(starts, first.table.flatten(), last, p.heads_q, p.heads_kv, p.headdim,
                     p.page_size, q_data_type=first.q.dtype, kv_data_type=first.k.dtype)

        def call(i):
            x = sets[i]
            return wrapper.run(x.q[:, 0], (x.k, x.v)).unsqueeze(1)
        return call


class Xqa(FlashInferModule):
    """XQA, as FlashInfer brings it. Over an e4m3 cache it rounds queries and probabilities to e4m3."""

    paged = True
    name = label = "xqa"
    backend = "xqa_batch_decode_with_kv_cache"

    def bind(self, problem, sets):
        p, workspace = problem, self.workspace(sets[0].q.device)
        lengths = sets[0].seqlens.view(torch.uint32)
        decode, scale = self._module.decode.xqa_batch_decode_with_kv_cache, p.headdim ** -0.5

        def call(i):
            x = sets[i]
            return decode(x.q[:, 0], (x.k, x.v), workspace, x.table, lengths, p.seqlen_k,
                          bmm1_scale=scale, bmm2_scale=1.0).unsqueeze(1)
        return call


DECODE_PEERS = {"flashinfer_decode": FlashInferDecode, "xqa": Xqa}
