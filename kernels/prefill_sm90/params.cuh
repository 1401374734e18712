// SPDX-License-Identifier: Apache-2.0
// What the device code of prefill_sm90 gets.
#pragma once

#include <cstdint>
#include <cuda.h>

#include "kernels/prefill_sm90/schedule.hpp"
#include "workload/attention_args.hpp"

namespace raceline::kernels::prefill_sm90 {

/// Coordinates of every map: column, token, head, sequence.
struct Params {
    CUtensorMap q, k, v, out;
    AttentionArgs args;
    Band band;
    Order order;
    /// Items handed out so far beyond every CTA's first, 0 at the start; null: fixed shares.
    unsigned* handed_out;
    Divider by_heads, by_group;  ///< query heads; those of a KV head
    float scale_log2;            ///< softmax scale, or the cap of a softcap, × log2 e
    float cap_inner;             ///< of a softcap: scale / cap, what tanh takes products by
    bool by_hand;                ///< the maps do not exist: the copy engine cannot read a tensor
    bool boxed_out;              ///< the map of the output exists: the copy engine can store rows
    bool chunked_out;            ///< output rows can be written in aligned 16-byte pieces
};

}  // namespace raceline::kernels::prefill_sm90
