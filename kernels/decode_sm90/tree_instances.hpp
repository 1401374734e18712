// SPDX-License-Identifier: Apache-2.0
// What decode_sm90_tree compiles: code of its own, so that a call without a tree runs what it
// always did.
#pragma once

#include <string_view>

#include "kernels/decode_sm90/params.hpp"
#include "kernels/decode_sm90/tree_tile.hpp"

namespace raceline::kernels::decode_sm90_tree {

struct Instances : InstancesOf<decode_sm90::TreeParams, tiles, 2> {
    static constexpr std::string_view engine = "decode_sm90_tree";
    template <int tile, int variant>
    static auto code() -> void (*)(Params);
};

}  // namespace raceline::kernels::decode_sm90_tree
