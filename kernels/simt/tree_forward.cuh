// SPDX-License-Identifier: Apache-2.0
// simt's kernel over arguments that have a tree.
#pragma once

#include "kernels/simt/forward.cuh"
#include "kernels/simt/tree_instances.hpp"

namespace raceline::kernels::simt_tree {

template <int tile, int variant>
auto Instances::code() -> void (*)(Params) {
    static_assert(simt::tiles[tile] == simt_tree::tiles[tile]);
    return simt::forward<tile, simt::v_widths[variant], Params>;
}

}  // namespace raceline::kernels::simt_tree
