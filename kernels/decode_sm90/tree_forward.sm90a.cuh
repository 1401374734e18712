// SPDX-License-Identifier: Apache-2.0
// decode_sm90's kernel over arguments that have a tree.
#pragma once

#include "kernels/decode_sm90/forward.sm90a.cuh"
#include "kernels/decode_sm90/tree_instances.hpp"

namespace raceline::kernels::decode_sm90_tree {

template <int tile, int variant>
auto Instances::code() -> void (*)(Params) {
    return decode_sm90::forward < tile, variant == 1, 2, Params > ;
}

}  // namespace raceline::kernels::decode_sm90_tree
