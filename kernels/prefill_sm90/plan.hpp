// SPDX-License-Identifier: Apache-2.0
// What prefill_sm90 hands out for a call.
#pragma once

#include "gpu/tile/plan.hpp"
#include "kernels/prefill_sm90/schedule.hpp"
#include "kernels/prefill_sm90/tile.hpp"

namespace raceline::kernels::prefill_sm90 {

using gpu::longest_length;
using gpu::most_items;
using gpu::Plan;
using gpu::Shape;
using gpu::shape_of;
using gpu::workspace_bytes;

/// Lengths at most longest_length, item_count() at most most_items.
inline Plan make_plan(const Shape& shape, const Tile& tile, const Device& device) {
    return gpu::make_plan(shape, tile.rows, 2, device);
}
inline std::int64_t item_count(const Shape& shape, const Tile& tile) {
    return gpu::item_count(shape, tile.rows);
}

}  // namespace raceline::kernels::prefill_sm90
