// SPDX-License-Identifier: Apache-2.0
// What the device code of prefill_mma gets.
#pragma once

#include <cstdint>

#include "kernels/prefill_mma/schedule.hpp"
#include "workload/attention_args.hpp"

namespace raceline::kernels::prefill_mma {

struct Params {
    AttentionArgs args;
    Band band;
    Order order;
    std::int32_t group;  ///< query heads a KV head
    float scale_log2;    ///< of a product, or of tanh where there is a softcap, to units of log2
    float cap_inner;     ///< of a softcap: scale / cap, what tanh takes products by; else 0
    bool by_hand;        ///< rows of a tensor are not aligned 16-byte pieces
};

}  // namespace raceline::kernels::prefill_mma
