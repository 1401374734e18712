// SPDX-License-Identifier: Apache-2.0
#include "kernels/prefill_sm90/plan.hpp"

#include <algorithm>
#include <numeric>

namespace raceline::kernels::prefill_sm90 {
namespace {

std::int32_t side(std::int64_t offset, std::int64_t most) {
    return offset < 0 ? -1 : static_cast<std::int32_t>(std::min(offset, most));
}

// Query heads that are worked on at a time. Equal items: as many as half of the L2 holds the keys
// and values of; the other half is for Q, the output and what has not been evicted yet. Under a
// causal mask items differ, and rounds come in pairs, a long item and a short one (index_of):
// groups are as large as makes their items whole pairs of rounds, if the L2 holds that, else all
// heads are one group and share what they read by walking the keys at the same time.
std::int64_t heads_together(const Shape& s, const Tile& tile, const Device& device) {
    const std::int64_t heads = std::max<std::int64_t>(1, s.batch * s.heads_q);
    const std::int64_t head_bytes =
        std::max<std::int64_t>(1, s.seqlen_k * (s.headdim + s.headdim_v) * 2);
    if (s.right < 0) {
        const std::int64_t heads_kv = std::max<std::int64_t>(1, device.l2_bytes / 2 / head_bytes);
        return std::min(heads_kv * s.group(), heads);
    }
    const std::int64_t pair = 2 * std::int64_t{device.units};
    const std::int64_t row_tiles = std::max<std::int64_t>(1, divide_up(s.seqlen_q, tile.rows));
    const std::int64_t whole = pair / std::gcd(pair, row_tiles);
    const bool held = divide_up(whole, s.group()) * head_bytes <= device.l2_bytes / 10 * 7;
    return held ? std::min(whole, heads) : heads;
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
    Plan p{};
    const std::int64_t reach = s.seqlen_q + s.seqlen_k;  // further than any key from any row
    p.band = {static_cast<std::int32_t>(s.seqlen_q), static_cast<std::int32_t>(s.seqlen_k),
              side(s.left, reach), side(s.right, reach)};
    p.order = {static_cast<std::int32_t>(divide_up(s.seqlen_q, tile.rows)),
               static_cast<std::int32_t>(s.batch * s.heads_q),
               static_cast<std::int32_t>(heads_together(s, tile, device))};
    p.ctas = static_cast<std::int32_t>(std::min<std::int64_t>(device.units, p.order.items()));
    return p;
}

}  // namespace raceline::kernels::prefill_sm90
