// SPDX-License-Identifier: Apache-2.0
// The launch of gqa_scorestationary.
#include "ladder/decode/gqa_scorestationary/gqa_scorestationary.cuh"

namespace raceline::kernels::gqa_scorestationary {

void launch(const AttentionArgs& a, int tile, const Device& device, void* workspace, void* stream) {
    launch_cache<Halves>(
        cut("gqa_scorestationary", a, layout_of, tiles.at(tile), device, workspace, stream));
}

}  // namespace raceline::kernels::gqa_scorestationary
