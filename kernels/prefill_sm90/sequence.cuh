// SPDX-License-Identifier: Apache-2.0
// Where one sequence of the batch stands: fixed lengths, packed batches, caches with used lengths.
#pragma once

#include "kernels/prefill_sm90/params.cuh"
#include "kernels/prefill_sm90/tile.hpp"

namespace raceline::kernels::prefill_sm90 {

struct Sequence {
    Band band;
    std::int32_t q_token, q_index;  ///< its first token, and its coordinate in the batch, of Q
    std::int32_t k_token, k_index;  ///< the same of K and V
    /// Tokens behind its last key are there and may hold anything, NaN included: 0 times V's would
    /// not be 0. Where the tensor ends, the copies bring zeros.
    bool followed;
};

__device__ __forceinline__ Sequence sequence_of(const Params& p, std::int32_t b) {
    const AttentionArgs& a = p.args;
    Sequence s{p.band, 0, b, 0, b, false};
    if (a.cu_seqlens_q != nullptr) {
        s.q_token = a.cu_seqlens_q[b];
        s.q_index = 0;
        s.band.length_q = a.cu_seqlens_q[b + 1] - s.q_token;
    }
    if (a.cu_seqlens_k != nullptr) {
        s.k_token = a.cu_seqlens_k[b];
        s.k_index = 0;
        s.band.length_k = a.cu_seqlens_k[b + 1] - s.k_token;
        s.followed = true;
    }
    if (a.seqlens_k != nullptr) {
        s.band.length_k = a.seqlens_k[b];
        s.followed = true;
    }
    return s;
}

/// An item with its sequence looked up; the same for all threads of the CTA.
struct Work {
    Sequence sequence;
    Blocks blocks;
    Rows rows;  ///< none if the sequence is shorter than others of the batch
    std::int32_t head, head_kv;
};

template <Tile tile>
__device__ __forceinline__ Work work_of(const Params& p, Item item) {
    Work w{};
    const std::int32_t b = p.by_heads.divide(item.head);
    w.sequence = sequence_of(p, b);
    w.head = item.head - b * p.args.heads_q;
    w.head_kv = p.by_group.divide(w.head);
    w.rows = gpu::rows_of_tile(item.row_tile, w.sequence.band.length_q, tile.rows);
    w.blocks = w.sequence.band.blocks(w.rows, tile.keys);
    return w;
}

}  // namespace raceline::kernels::prefill_sm90
