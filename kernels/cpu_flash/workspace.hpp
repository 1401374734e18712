// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu_flash/decode_scratch.hpp"
#include "kernels/cpu_flash/engine.hpp"
#include "kernels/cpu_flash/scratch.hpp"

namespace raceline::kernels::cpu_flash {

/// The workspace, in floats: a scratch area a thread, then the slots of partial results.
struct WorkspaceLayout {
    std::int64_t scratch = 0;
    std::int64_t thread_stride, partials, slot_stride, total;

    WorkspaceLayout(const Problem& p, const Tile& tile, int units) {
        const bool decode = is_decode(p.lengths.longest_q, p.group);
        const std::int64_t used =
            decode ? DecodeScratch(p).total
                   : PrefillScratch(tile.rows, tile.keys, p.headdim, p.headdim_v).total;
        // A page more, so that threads share neither lines nor the sets of their caches.
        thread_stride = (used + 1023) / 1024 * 1024 + 80;
        partials = scratch + thread_stride * units;
        slot_stride = slot_floats(slot_rows(p, tile), p.headdim_v);
        total = partials + slot_stride * most_slots(p, units) + 16;
    }
};

}  // namespace raceline::kernels::cpu_flash
