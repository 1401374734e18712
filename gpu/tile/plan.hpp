// SPDX-License-Identifier: Apache-2.0
// What a persistent forward kernel hands out for a call: host code, shared by launches and counts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/device.hpp"
#include "gpu/tile/schedule.hpp"
#include "workload/attention_args.hpp"
#include "workload/workload.hpp"

namespace raceline::gpu {

/// What a workload and the arguments of a launch have in common.
struct Shape {
    std::int64_t batch, heads_q, heads_kv, seqlen_q, seqlen_k, headdim, headdim_v;
    std::int64_t left, right;  ///< causal folded in; negative: unbounded
    bool uneven;               ///< items may differ in their number of keys
    [[nodiscard]] std::int64_t group() const { return heads_kv > 0 ? heads_q / heads_kv : 1; }
};

struct Plan {
    Band band;
    Order order;
    std::int32_t ctas;  ///< 0: there is no query anywhere
    /// A CTA that is done takes the next item, instead of a share fixed beforehand: needs a counter
    /// in the workspace.
    bool handed_out;
};
/// Of every call: whether lengths differ may be known on the device only.
inline constexpr std::size_t workspace_bytes = 64;

inline constexpr std::int64_t longest_length = 1 << 29;  // sums of two lengths stay in 31 bits
inline constexpr std::int64_t most_items = (std::int64_t{1} << 31) - 1;

inline std::int32_t side(std::int64_t offset, std::int64_t most) {
    return offset < 0 ? -1 : static_cast<std::int32_t>(std::min(offset, most));
}

/// Query heads that are worked on at a time. Equal items: those of one KV head, so that the CTAs
/// that read its keys and values do so at the same time. Items that differ, of which long ones go
/// first: as many heads as the L2 holds the keys and values of, beside queries, outputs and what is
/// not evicted yet.
inline std::int64_t heads_together(const Shape& s, const Device& device, int element_bytes) {
    if (!s.uneven) {
        return s.group();
    }
    const std::int64_t heads = std::max<std::int64_t>(1, s.batch * s.heads_q);
    const std::int64_t head_bytes =
        std::max<std::int64_t>(1, s.seqlen_k * (s.headdim + s.headdim_v) * element_bytes);
    const std::int64_t heads_kv = std::max<std::int64_t>(1, device.l2_bytes / 10 * 6 / head_bytes);
    return std::min(heads_kv * s.group(), heads);
}

inline Shape shape_of(const Workload& w) {
    const Window window = w.window.value_or(Window{});
    const std::int64_t right = w.mask == Mask::causal ? 0 : window.right;
    return {w.batch,     w.heads_q,
            w.heads_kv,  w.seqlen_q,
            w.seqlen_k,  w.headdim,
            w.headdim_v, window.left,
            right,       w.ragged() || window.left >= 0 || right >= 0};
}

inline Shape shape_of(const AttentionArgs& a) {
    const bool lengths =
        a.cu_seqlens_q != nullptr || a.cu_seqlens_k != nullptr || a.seqlens_k != nullptr;
    return {a.batch,        a.heads_q,
            a.heads_kv,     a.seqlen_q,
            a.seqlen_k,     a.headdim,
            a.headdim_v,    a.window_left,
            a.window_right, lengths || a.window_left >= 0 || a.window_right >= 0};
}

inline std::int64_t item_count(const Shape& s, int rows) {
    return divide_up(s.seqlen_q, rows) * s.batch * s.heads_q;
}

/// Tiles of `rows` query rows; keys and values of `element_bytes`. Lengths at most longest_length,
/// items at most most_items.
inline Plan make_plan(const Shape& s, int rows, int element_bytes, const Device& device) {
    Plan p{};
    const std::int64_t reach = s.seqlen_q + s.seqlen_k;  // further than any key from any row
    p.band = {static_cast<std::int32_t>(s.seqlen_q), static_cast<std::int32_t>(s.seqlen_k),
              side(s.left, reach), side(s.right, reach)};
    p.order = {static_cast<std::int32_t>(divide_up(s.seqlen_q, rows)),
               static_cast<std::int32_t>(s.batch * s.heads_q),
               static_cast<std::int32_t>(heads_together(s, device, element_bytes))};
    p.ctas = static_cast<std::int32_t>(std::min<std::int64_t>(device.units, p.order.items()));
    // A tile of fewer rows is less work, too: fixed shares would leave whole items idle.
    const bool partial = p.order.row_tiles > 1 && s.seqlen_q % rows != 0;
    p.handed_out = (s.uneven || partial) && p.order.items() > p.ctas;
    return p;
}

}  // namespace raceline::gpu
