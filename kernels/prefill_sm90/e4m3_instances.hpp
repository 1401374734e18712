// SPDX-License-Identifier: Apache-2.0
// What prefill_sm90_fp8 compiles: every tile.
#pragma once

#include <string_view>

#include "kernels/prefill_sm90/e4m3_tile.hpp"
#include "kernels/prefill_sm90/params.cuh"
#include "registry/instances.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

struct Instances {
    using Params = prefill_sm90_fp8::Params;
    static constexpr std::string_view engine = "prefill_sm90_fp8";
    static constexpr int tiles = static_cast<int>(prefill_sm90_fp8::tiles.size());
    static constexpr int variants = 1;

    template <int tile, int variant>
    static constexpr bool compiled = true;
    template <int tile, int variant>
    static auto code() -> void (*)(Params);
};

/// Enqueues the launch that transposes V before the main one, for a tile with `prepared`, of which
/// only head dim and keys matter. `images` of the workspace are to be written, V's map is good;
/// `stream` is a cudaStream_t.
void launch_preparation(const Tile& tile, const Params& params, std::int64_t images, void* stream);

}  // namespace raceline::kernels::prefill_sm90_fp8
