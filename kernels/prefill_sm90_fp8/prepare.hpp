// SPDX-License-Identifier: Apache-2.0
// The launch that transposes V before the main one.
#pragma once

#include "kernels/prefill_sm90_fp8/params.cuh"
#include "kernels/prefill_sm90_fp8/tile.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

/// Enqueues it for a tile with `prepared`, of which only head dim and keys matter. `images` of the
/// workspace are to be written, V's map is good; `stream` is a cudaStream_t.
void launch_preparation(const Tile& tile, const Params& params, std::int64_t images, void* stream);

}  // namespace raceline::kernels::prefill_sm90_fp8
