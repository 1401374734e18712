// SPDX-License-Identifier: Apache-2.0
// What the device code of prefill_sm90_fp8 gets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda.h>

#include "kernels/prefill_sm90_fp8/schedule.hpp"
#include "workload/attention_args.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

/// Coordinates of every map: column, token, head, sequence.
struct Params {
    CUtensorMap q, k, v;
    AttentionArgs args;
    Band band;
    Order order;
    /// Items handed out so far beyond every CTA's first, 0 at the start; null: fixed shares.
    unsigned* handed_out;
    std::byte* images;  ///< V transposed, where a launch before this one has done it (images.hpp)
    Divider by_heads, by_group;  ///< query heads; those of a KV head
    float scale_log2;            ///< softmax scale × log2 e, without the tensors' scales
    bool chunked_out;            ///< output rows can be written in aligned 16-byte pieces
};

}  // namespace raceline::kernels::prefill_sm90_fp8
