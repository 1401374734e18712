// SPDX-License-Identifier: Apache-2.0
// The number that gqa_occupancy changes.
#pragma once

#include "ladder/decode/gqa/gqa.hpp"

namespace raceline::kernels::gqa_occupancy {

/// Of K and V together: four CTAs an SM.
inline constexpr std::int64_t stage_bytes = std::int64_t{48} * 1024;

constexpr decode::Layout layout_of(const decode::Call& call) {
    decode::Layout layout = gqa::layout_of(call);
    layout.smem_bytes = stage_bytes;
    return layout;
}

}  // namespace raceline::kernels::gqa_occupancy
