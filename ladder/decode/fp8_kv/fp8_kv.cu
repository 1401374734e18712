// SPDX-License-Identifier: Apache-2.0
// The launch of fp8_kv: gqa_scorestationary's, on another cache.
#include "ladder/decode/fp8_kv/fp8_kv.cuh"

namespace raceline::kernels::fp8_kv {

void launch(const AttentionArgs& a, int tile, const Device& device, void* workspace, void* stream) {
    gqa_scorestationary::launch_cache<Cache>(cut("fp8_kv", a, gqa_scorestationary::layout_of,
                                                 tiles.at(tile), device, workspace, stream));
}

}  // namespace raceline::kernels::fp8_kv
