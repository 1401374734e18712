// SPDX-License-Identifier: Apache-2.0
// Where one sequence of the batch stands: fixed lengths, packed batches, caches with used lengths.
#pragma once

#include "kernels/prefill_sm90_fp8/images.hpp"
#include "kernels/prefill_sm90_fp8/params.cuh"
#include "kernels/prefill_sm90_fp8/tile.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

struct Sequence {
    Band band;
    std::int32_t q_token, q_index;  ///< its first token, and its coordinate in the batch, of Q
    std::int32_t k_token, k_index;  ///< the same of K and V
};

__device__ __forceinline__ Sequence sequence_of(const Params& p, std::int32_t b) {
    const AttentionArgs& a = p.args;
    Sequence s{p.band, 0, b, 0, b};
    if (a.cu_seqlens_q != nullptr) {
        s.q_token = a.cu_seqlens_q[b];
        s.q_index = 0;
        s.band.length_q = a.cu_seqlens_q[b + 1] - s.q_token;
    }
    if (a.cu_seqlens_k != nullptr) {
        s.k_token = a.cu_seqlens_k[b];
        s.k_index = 0;
        s.band.length_k = a.cu_seqlens_k[b + 1] - s.k_token;
    }
    if (a.seqlens_k != nullptr) {
        s.band.length_k = a.seqlens_k[b];
    }
    return s;
}

/// Where the blocks of sequence b begin among V's images.
template <int keys>
__device__ __forceinline__ std::int32_t image_place(const Params& p, std::int32_t b) {
    return p.args.cu_seqlens_k != nullptr ? packed_place(p.args.cu_seqlens_k[b], b, keys)
                                          : equal_place(p.args.seqlen_k, b, keys);
}

/// An item with its sequence looked up; the same for all threads of the CTA.
struct Work {
    Sequence sequence;
    Blocks blocks;
    Rows rows;  ///< none if the sequence is shorter than others of the batch
    std::int32_t head, head_kv;
    std::int32_t scale;  ///< index of its KV head in the tensors' scales
    std::int32_t place;  ///< of its sequence's first block among V's images, if there are any
};

/// A tensor's scale at that index; a tensor without scales has 1 everywhere.
__device__ __forceinline__ float scale_at(const float* scales, std::int32_t index) {
    return scales == nullptr ? 1.0F : scales[index];
}
/// What a raw product of Q and K is multiplied by to be a logit in powers of two.
__device__ __forceinline__ float scale_log2_of(const Params& p, const Work& w) {
    return p.scale_log2 * scale_at(p.args.q_scale, w.scale) * scale_at(p.args.k_scale, w.scale);
}

template <Tile tile>
__device__ __forceinline__ Work work_of(const Params& p, Item item) {
    Work w{};
    const std::int32_t b = p.by_heads.divide(item.head);
    w.sequence = sequence_of(p, b);
    w.head = item.head - b * p.args.heads_q;
    w.head_kv = p.by_group.divide(w.head);
    w.scale = b * p.args.heads_kv + w.head_kv;
    if constexpr (tile.prepared != 0) {
        w.place = image_place<tile.keys>(p, b);
    }
    w.rows = gpu::rows_of_tile(item.row_tile, w.sequence.band.length_q, tile.rows);
    w.blocks = w.sequence.band.blocks(w.rows, tile.keys);
    return w;
}

}  // namespace raceline::kernels::prefill_sm90_fp8
