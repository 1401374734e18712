// SPDX-License-Identifier: Apache-2.0
// What prefill_sm90 compiles: every tile in fp16 and in bf16, and a few with a softcap too.
#pragma once

#include <string_view>

#include "kernels/prefill_sm90/f16_tile.hpp"
#include "kernels/prefill_sm90/params.cuh"
#include "registry/instances.hpp"

namespace raceline::kernels::prefill_sm90 {

struct Instances {
    using Params = prefill_sm90::Params;
    static constexpr std::string_view engine = "prefill_sm90";
    static constexpr int tiles = static_cast<int>(prefill_sm90::tiles.size());
    static constexpr int variants = 4;
    static constexpr int variant(bool bf16, bool capped) {
        return (bf16 ? 1 : 0) + (capped ? 2 : 0);
    }

    template <int tile, int variant>
    static constexpr bool compiled = variant < 2 || caps(prefill_sm90::tiles[tile]);
    template <int tile, int variant>
    static auto code() -> void (*)(Params);
};

}  // namespace raceline::kernels::prefill_sm90
