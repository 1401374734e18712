// SPDX-License-Identifier: Apache-2.0
// What a launch gets: pointers, strides and numbers. Trivially copyable, so that it can be a
// __grid_constant__ kernel parameter; includes nothing that a device translation unit may not see.
#pragma once

#include <cstdint>

#include "raceline/dtype.hpp"

namespace raceline {

/// (batch, seqlen, heads, headdim), last dimension contiguous. Strides are in elements. Where
/// cu_seqlens is given, sequence b starts at cu_seqlens[b] * seq_stride and batch_stride is unused.
/// Paged: batch_stride is the stride from page to page, seq_stride from token to token in a page.
struct TensorArg {
    void* data = nullptr;
    std::int64_t batch_stride = 0;
    std::int64_t seq_stride = 0;
    std::int64_t head_stride = 0;
};

struct AttentionArgs {
    TensorArg q, k, v, out;

    /// Natural-log LSE in float32, sink included; a row without keys has its sink's logit, or -inf
    /// where there are no sinks. Null: not wanted.
    /// Strides in elements as for a tensor without the last dimension.
    float* lse = nullptr;
    std::int64_t lse_batch_stride = 0;
    std::int64_t lse_seq_stride = 0;
    std::int64_t lse_head_stride = 0;

    const float* sinks = nullptr;                ///< heads_q logits, or null
    const std::int32_t* cu_seqlens_q = nullptr;  ///< batch + 1 prefix sums, or null
    const std::int32_t* cu_seqlens_k = nullptr;  ///< batch + 1 prefix sums, or null
    const std::int32_t* seqlens_k = nullptr;     ///< used lengths in a cache, or null
    const std::int32_t* block_table = nullptr;   ///< (batch, block_table_stride), or null
    std::int64_t block_table_stride = 0;
    /// (batch, heads_kv) dequantisation scales, positive, or null for 1. Q's is shared by the query
    /// heads of a KV head.
    const float* k_scale = nullptr;
    const float* v_scale = nullptr;
    const float* q_scale = nullptr;

    std::int32_t batch = 0;
    std::int32_t heads_q = 0;
    std::int32_t heads_kv = 0;
    std::int32_t seqlen_q = 0;  ///< the longest
    std::int32_t seqlen_k = 0;  ///< the longest
    std::int32_t headdim = 0;
    std::int32_t headdim_v = 0;
    std::int32_t page_size = 0;  ///< 0: contiguous

    std::int64_t tokens_q = 0;  ///< of a packed q and out (cu_seqlens_q given), over the batch
    std::int64_t tokens_k = 0;  ///< of a packed k and v (cu_seqlens_k given), over the batch

    float scale = 1;
    float softcap = 0;
    /// Inclusive offsets after bottom-right alignment; negative: unbounded. Causal is folded in:
    /// window_right is then 0.
    std::int32_t window_left = -1;
    std::int32_t window_right = -1;

    DType dtype = DType::fp32;
    DType kv_dtype = DType::fp32;
};

}  // namespace raceline
