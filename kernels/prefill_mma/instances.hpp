// SPDX-License-Identifier: Apache-2.0
// What prefill_mma compiles, and what its code gets: every tile in fp16 and in bf16, and one a head
// dim that reads rows by hand.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/prefill_mma/plan.hpp"
#include "kernels/prefill_mma/tile.hpp"
#include "registry/instances.hpp"
#include "workload/attention_args.hpp"

namespace raceline::kernels::prefill_mma {

/// What the device code gets.
struct Params {
    AttentionArgs args;
    Band band;
    Order order;
    std::int32_t group;  ///< query heads a KV head
    float scale_log2;    ///< of a product, or of tanh where there is a softcap, to units of log2
    float cap_inner;     ///< of a softcap: scale / cap, what tanh takes products by; else 0
    bool by_hand;        ///< rows of a tensor are not aligned 16-byte chunks
};

struct Instances {
    using Params = prefill_mma::Params;
    static constexpr std::string_view engine = "prefill_mma";
    static constexpr int tiles = static_cast<int>(prefill_mma::tiles.size());
    static constexpr int variants = 4;
    static constexpr int variant(bool bf16, bool by_hand) {
        return (bf16 ? 1 : 0) + (by_hand ? 2 : 0);
    }

    template <int tile, int variant>
    static constexpr bool compiled = variant < 2 || tile == by_hand_tile(tile);
    template <int tile, int variant>
    static auto code() -> void (*)(Params);
};

}  // namespace raceline::kernels::prefill_mma
