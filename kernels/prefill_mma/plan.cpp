// SPDX-License-Identifier: Apache-2.0
#include "kernels/prefill_mma/plan.hpp"

#include <algorithm>

namespace raceline::kernels::prefill_mma {
namespace {

std::int32_t side(std::int64_t offset, std::int64_t most) {
    return offset < 0 ? -1 : static_cast<std::int32_t>(std::min(offset, most));
}

// Query heads that are worked on at a time: as many as half of the L2 holds the keys and values of;
// the other half is for Q, the output and what has not been evicted yet. Under a causal mask CTAs
// differ, and a group has at least two CTAs for every place: with the longest first, none is then
// longer than what its place gets from this group on average. Groups are equal, so that the last
// one ends as evenly.
std::int64_t heads_together(const Shape& s, const Tile& tile, const Device& device) {
    const std::int64_t heads = std::max<std::int64_t>(1, s.batch * s.heads_q);
    const std::int64_t head_bytes =
        std::max<std::int64_t>(1, s.seqlen_k * (s.headdim + s.headdim_v) * 2);
    const std::int64_t held = std::max<std::int64_t>(1, device.l2_bytes / 2 / head_bytes);
    std::int64_t together = held * s.group();
    if (s.right >= 0) {
        const std::int64_t places = std::int64_t{device.units} * tile.residents;
        const std::int64_t row_tiles = std::max<std::int64_t>(1, divide_up(s.seqlen_q, tile.rows));
        together = std::max(together, divide_up(2 * places, row_tiles));
    }
    const std::int64_t groups = std::max<std::int64_t>(1, heads / std::min(together, heads));
    return divide_up(divide_up(heads, groups), s.group()) * s.group();
}

}  // namespace

Shape shape_of(const Workload& w) {
    const Window window = w.window.value_or(Window{});
    const std::int64_t right = w.mask == Mask::causal ? 0 : window.right;
    return {w.batch,   w.heads_q,   w.heads_kv,  w.seqlen_q, w.seqlen_k,
            w.headdim, w.headdim_v, window.left, right};
}

Shape shape_of(const AttentionArgs& a) {
    return {a.batch,   a.heads_q,   a.heads_kv,    a.seqlen_q,    a.seqlen_k,
            a.headdim, a.headdim_v, a.window_left, a.window_right};
}

std::int64_t item_count(const Shape& s, const Tile& tile) {
    return divide_up(s.seqlen_q, tile.rows) * s.batch * s.heads_q;
}

Plan make_plan(const Shape& s, const Tile& tile, const Device& device) {
    const std::int64_t reach = s.seqlen_q + s.seqlen_k;  // further than any key from any row
    return {.band = {static_cast<std::int32_t>(s.seqlen_q), static_cast<std::int32_t>(s.seqlen_k),
                     side(s.left, reach), side(s.right, reach)},
            .order = {static_cast<std::int32_t>(divide_up(s.seqlen_q, tile.rows)),
                      static_cast<std::int32_t>(s.batch * s.heads_q),
                      static_cast<std::int32_t>(heads_together(s, tile, device))}};
}

}  // namespace raceline::kernels::prefill_mma
