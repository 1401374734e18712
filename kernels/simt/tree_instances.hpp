// SPDX-License-Identifier: Apache-2.0
// What simt_tree compiles: code of its own, so that a call without a tree runs what it always did.
#pragma once

#include <string_view>

#include "kernels/simt/instances.hpp"
#include "kernels/simt/tree_tile.hpp"

namespace raceline::kernels::simt_tree {

struct Instances : InstancesOf<simt::TreeParams, tiles, simt::Instances::variants> {
    static constexpr std::string_view engine = "simt_tree";

    template <int tile, int variant>
    static constexpr bool compiled =
        simt_tree::compiled(simt_tree::tiles[tile], simt::v_widths[variant]);
    template <int tile, int variant>
    static auto code() -> void (*)(Params);
};

}  // namespace raceline::kernels::simt_tree
