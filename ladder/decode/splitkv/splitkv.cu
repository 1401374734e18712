// SPDX-License-Identifier: Apache-2.0
// The launch of splitkv.
#include "ladder/decode/splitkv/splitkv.cuh"

namespace raceline::kernels::splitkv {

void launch(const AttentionArgs& a, int tile, const Device& device, void* workspace, void* stream) {
    launch_rows<Contiguous>(
        cut("splitkv", a, layout_of, tiles.at(tile), device, workspace, stream));
}

}  // namespace raceline::kernels::splitkv
