// SPDX-License-Identifier: Apache-2.0
// What decode_sm90 compiles: every tile for queries in fp16 and in bf16.
#pragma once

#include <string_view>

#include "kernels/decode_sm90/params.hpp"
#include "registry/instances.hpp"

namespace raceline::kernels::decode_sm90 {

struct Instances {
    using Params = decode_sm90::Params;
    static constexpr std::string_view engine = "decode_sm90";
    static constexpr int tiles = static_cast<int>(decode_sm90::tiles.size());
    static constexpr int variants = 2;  ///< 1: bf16

    template <int tile, int variant>
    static constexpr bool compiled = true;
    template <int tile, int variant>
    static auto code() -> void (*)(Params);
};

/// Enqueues the combination of parts of sequences that several CTAs have worked on. `tile` is that
/// of the launch before; `stream` is a cudaStream_t.
void launch_combine(const Params& params, const Tile& tile, void* stream);

}  // namespace raceline::kernels::decode_sm90
