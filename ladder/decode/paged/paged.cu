// SPDX-License-Identifier: Apache-2.0
// The launch of paged: splitkv's, on another cache.
#include "ladder/decode/paged/paged.cuh"

namespace raceline::kernels::paged {

void launch(const AttentionArgs& a, int tile, const Device& device, void* workspace, void* stream) {
    splitkv::launch_rows<Cache>(
        cut("paged", a, splitkv::layout_of, tiles.at(tile), device, workspace, stream));
}

}  // namespace raceline::kernels::paged
