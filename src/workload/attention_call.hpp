// SPDX-License-Identifier: Apache-2.0
// The arguments of a launch with what only some kernels take.
#pragma once

#include <cstdint>

#include "workload/attention_args.hpp"

namespace raceline {

/// Dequantisation scales, one a token and KV head, positive: (batch, seqlen, heads_kv), or
/// (pages, page_size, heads_kv). Strides in elements, as a TensorArg's.
struct ScaleArg {
    const float* data = nullptr;
    std::int64_t batch_stride = 0;
    std::int64_t seq_stride = 0;
    std::int64_t head_stride = 0;
};

/// Apart from AttentionArgs, which is a parameter of every kernel: a member more would change the
/// machine code of all of them.
struct AttentionCall : AttentionArgs {
    /// A word a query token, packed like the query tokens: (batch, seqlen_q), or of a packed q
    /// (tokens_q). Bit j is set if the token sees the sequence's new token j, whose key stands
    /// seqlen_q - j before the end of the sequence's keys; older keys are seen by all. Bits behind
    /// the sequence's last token count for nothing. The window is open on both sides then. Null:
    /// no tree.
    const std::uint32_t* tree = nullptr;
    /// Of an e4m3 cache: a scale for each token and KV head, beside those of AttentionArgs. Null
    /// data: none. Both or neither.
    ScaleArg k_token_scale, v_token_scale;

    AttentionCall() = default;
    /// Of a call without any of it.
    AttentionCall(const AttentionArgs& args) : AttentionArgs(args) {}
};

}  // namespace raceline
