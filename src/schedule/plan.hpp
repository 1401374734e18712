// SPDX-License-Identifier: Apache-2.0
// What a persistent forward kernel hands out for a call: host code, shared by launches and counts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/device.hpp"
#include "gpu/tile/schedule.hpp"
#include "workload/problem.hpp"

namespace raceline::schedule {

struct Plan {
    Band band;
    Order order;
    std::int32_t ctas;  ///< 0: there is no query anywhere
    /// A CTA that is done takes the next work tile, instead of a share fixed beforehand: needs a
    /// counter in the workspace.
    bool handed_out;
};
/// Of every call: whether lengths differ may be known on the device only.
inline constexpr std::size_t workspace_bytes = 64;

inline constexpr std::int64_t longest_length = 1 << 29;  // sums of two lengths stay in 31 bits
inline constexpr std::int64_t most_work_tiles = (std::int64_t{1} << 31) - 1;

/// Query heads that are worked on at a time. Equal work tiles: those of one KV head, so that the
/// CTAs that read its keys and values do so at the same time. Work tiles that differ, of which long
/// ones go first: as many heads as the L2 holds the keys and values of, beside queries, outputs and
/// what is not evicted yet.
inline std::int64_t heads_together(const Problem& p, const Device& device, int element_bytes) {
    if (!p.uneven()) {
        return p.group();
    }
    const std::int64_t heads = std::max<std::int64_t>(1, p.batch * p.heads_q);
    const std::int64_t head_bytes =
        std::max<std::int64_t>(1, p.seqlen_k * (p.headdim + p.headdim_v) * element_bytes);
    const std::int64_t heads_kv = std::max<std::int64_t>(1, device.l2_bytes / 10 * 6 / head_bytes);
    return std::min(heads_kv * p.group(), heads);
}

inline std::int64_t work_tile_count(const Problem& p, int rows) {
    return divide_up(p.seqlen_q, rows) * p.batch * p.heads_q;
}

/// Tiles of `rows` query rows; keys and values of `element_bytes`. Lengths at most longest_length,
/// work tiles at most most_work_tiles.
inline Plan make_plan(const Problem& p, int rows, int element_bytes, const Device& device) {
    Plan plan{};
    plan.band = p.band();
    plan.order = {static_cast<std::int32_t>(divide_up(p.seqlen_q, rows)),
                  static_cast<std::int32_t>(p.batch * p.heads_q),
                  static_cast<std::int32_t>(heads_together(p, device, element_bytes))};
    plan.ctas =
        static_cast<std::int32_t>(std::min<std::int64_t>(device.units, plan.order.work_tiles()));
    // A tile of fewer rows is less work, too: fixed shares would leave whole work tiles idle.
    const bool partial = plan.order.row_tiles > 1 && p.seqlen_q % rows != 0;
    plan.handed_out = (p.uneven() || partial) && plan.order.work_tiles() > plan.ctas;
    return plan;
}

}  // namespace raceline::schedule
