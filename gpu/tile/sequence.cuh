// SPDX-License-Identifier: Apache-2.0
// Where one sequence of the batch stands: fixed lengths, packed batches, caches with used lengths.
#pragma once

#include <cstdint>
#include <type_traits>

#include "workload/attention_args.hpp"
#include "workload/band.hpp"

namespace raceline::schedule {

struct Sequence {
    Band band;
    std::int32_t q_token, q_index;  ///< its first token, and its coordinate in the batch, of Q
    std::int32_t k_token, k_index;  ///< the same of K and V
};

/// For kernels that copy whole boxes of tokens.
struct FollowedSequence : Sequence {
    /// Tokens behind its last key are there and may hold anything, NaN included: 0 times V's would
    /// not be 0. Where the tensor ends, the copies bring zeros.
    bool followed;
};

/// Where sequence b differs from what the longest lengths say, in a batch whose lengths do.
template <class Kind>
__device__ __forceinline__ void place_in_batch(Kind& s, const AttentionArgs& a, std::int32_t b) {
    constexpr bool says_followed = std::is_same_v<Kind, FollowedSequence>;
    if (a.cu_seqlens_q != nullptr) {
        s.q_token = a.cu_seqlens_q[b];
        s.q_index = 0;
        s.band.length_q = a.cu_seqlens_q[b + 1] - s.q_token;
    }
    if (a.cu_seqlens_k != nullptr) {
        s.k_token = a.cu_seqlens_k[b];
        s.k_index = 0;
        s.band.length_k = a.cu_seqlens_k[b + 1] - s.k_token;
        if constexpr (says_followed) {
            s.followed = true;
        }
    }
    if (a.seqlens_k != nullptr) {
        s.band.length_k = a.seqlens_k[b];
        if constexpr (says_followed) {
            s.followed = true;
        }
    }
}

/// `Kind` is one of the two. `Params` has args (AttentionArgs), and the band of a sequence of the
/// longest lengths.
template <class Kind, class Params>
__device__ __forceinline__ Kind sequence_of(const Params& p, std::int32_t b) {
    Kind s{};
    s.band = p.band;
    s.q_index = b;
    s.k_index = b;
    place_in_batch(s, p.args, b);
    return s;
}

}  // namespace raceline::schedule
