// SPDX-License-Identifier: Apache-2.0
// How a call is cut into splits.
#include "ladder/decode/plan.hpp"

#include <algorithm>

#include "device/device.hpp"
#include "model/counts.hpp"
#include "support/rounding.hpp"

namespace raceline::kernels::decode {

Call call_of(const Workload& w) {
    return {w.batch, w.heads_q, w.heads_kv, w.seqlen_k, static_cast<int>(w.headdim)};
}

Call call_of(const AttentionArgs& a) {
    return {a.batch, a.heads_q, a.heads_kv, a.seqlen_k, a.headdim};
}

Plan plan_of(const Layout& layout, const Call& call, const Tile& tile, const Device& device) {
    constexpr std::int64_t reserved = 1024;  // bytes of the system a CTA (CUDA programming guide)
    Plan plan{.rows = call.batch * call.heads_q,
              .groups = call.batch * divide_up(call.heads_q, layout.cta_rows),
              .splits = 1,
              .keys = call.keys,
              .resident = std::clamp<std::int64_t>(
                  device.smem_bytes_per_unit / (layout.smem_bytes + reserved), 1, layout.most_ctas),
              .smem_bytes = layout.smem_bytes,
              .workspace_bytes = 0};
    const std::int64_t a_split = layout.counts_groups ? plan.groups : plan.rows;
    const std::int64_t wanted = std::clamp<std::int64_t>(
        tile.waves * plan.resident * device.units / std::max<std::int64_t>(1, a_split), 1,
        std::max<std::int64_t>(1, divide_up(call.keys, layout.fewest)));
    if (wanted > 1) {
        plan.keys = divide_up(divide_up(call.keys, layout.multiple), wanted) * layout.multiple;
        plan.splits = divide_up(call.keys, plan.keys);  // none of them empty
        const std::int64_t floats = plan.rows * plan.splits * part_floats(layout.columns);
        // 16 bytes more, for aligning the caller's address.
        plan.workspace_bytes = static_cast<std::size_t>(floats) * sizeof(float) + 16;
    }
    return plan;
}

}  // namespace raceline::kernels::decode
