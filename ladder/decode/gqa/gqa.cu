// SPDX-License-Identifier: Apache-2.0
// The launch of gqa.
#include "ladder/decode/gqa/gqa.cuh"

namespace raceline::kernels::gqa {

void launch(const AttentionArgs& a, int tile, const Device& device, void* workspace, void* stream) {
    launch_groups<float, __half>(
        cut("gqa", a, layout_of, tiles.at(tile), device, workspace, stream),
        [](auto zero, auto d, auto rows) {
            return gqa::partial<decltype(zero), d(), rows(), Staged<2, stage_bytes>>;
        });
}

}  // namespace raceline::kernels::gqa
