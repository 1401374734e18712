// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu_flash/engine.hpp"
#include "kernels/cpu_flash/scratch.hpp"

namespace raceline::kernels::cpu_flash {

void run_decode(const Task& task) {
    run_prefill(task);
}

std::int64_t decode_scratch_floats(const Problem& p) {
    return PrefillScratch(kTiles[0].rows, kTiles[0].keys, p.headdim, p.headdim_v).total;
}

}  // namespace raceline::kernels::cpu_flash
