// SPDX-License-Identifier: Apache-2.0
// Where a CTA's rows stand: fixed lengths, packed batches, caches with used lengths.
#pragma once

#include "kernels/prefill_mma/params.hpp"
#include "kernels/prefill_mma/tile.hpp"

namespace raceline::kernels::prefill_mma {

struct Sequence {
    Band band;
    std::int32_t q_token, q_index;  ///< its first token, and its place in the batch, of Q
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

/// What a CTA has to do. It stands in shared memory and is read where it is needed: in registers it
/// would cost what the products need.
struct alignas(16) Work {
    Sequence sequence;
    Blocks blocks;
    std::int32_t first_row, head, head_kv;
    bool empty;  ///< a shorter sequence has no such rows
};

template <Tile tile>
__device__ __forceinline__ Work work_of(const Params& p, Item item) {
    Work w{};
    const std::int32_t b = item.head / p.args.heads_q;
    w.sequence = sequence_of(p, b);
    w.head = item.head - b * p.args.heads_q;
    w.head_kv = w.head / p.group;
    w.first_row = item.row_tile * tile.rows;
    w.empty = w.first_row >= w.sequence.band.length_q;
    w.blocks = w.empty ? Blocks{0, 0} : w.sequence.band.blocks(w.first_row, tile.rows, tile.keys);
    return w;
}

}  // namespace raceline::kernels::prefill_mma
