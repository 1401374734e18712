// SPDX-License-Identifier: Apache-2.0
// gqa with half the tile, so that an SM holds twice the CTAs: more warps to switch to while some
// wait, fewer bytes under way in each. The launch bound asks the compiler for the registers that
// four CTAs leave.
#include "ladder/decode/gqa/gqa.cuh"
#include "ladder/decode/gqa_occupancy/gqa_occupancy.hpp"

namespace raceline::kernels::gqa_occupancy {

using namespace decode;

void launch(const AttentionArgs& a, int tile, const Device& device, void* workspace, void* stream) {
    gqa::launch_groups<float, __half>(
        cut("gqa_occupancy", a, layout_of, tiles.at(tile), device, workspace, stream),
        [](auto zero, auto d, auto rows) {
            return gqa::partial<decltype(zero), d(), rows(), gqa::Staged<4, stage_bytes>>;
        });
}

}  // namespace raceline::kernels::gqa_occupancy
