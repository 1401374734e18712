// SPDX-License-Identifier: Apache-2.0
// How a call is split into CTAs, the same answer for the counts, the launch and the device; what
// the code gets, and what of it is compiled: every tile in fp16 and in bf16, and one a head dim
// that reads rows by hand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "device/device.hpp"
#include "gpu/tile/schedule.hpp"
#include "kernels/prefill_mma/tile.hpp"
#include "registry/instances.hpp"
#include "workload/attention_args.hpp"
#include "workload/problem.hpp"

namespace raceline::kernels::prefill_mma {

/// Which work tile a CTA does. CTAs start in the order of their index: heads go in groups, and
/// within a group the last rows of every head come first, which under a causal mask have the most
/// keys.
struct Order {
    std::int32_t row_tiles, heads, heads_per_group;
    [[nodiscard]] constexpr std::int32_t work_tiles() const { return row_tiles * heads; }
    [[nodiscard]] constexpr schedule::WorkTile work_tile(std::int32_t index) const {
        const std::int32_t group = index / (row_tiles * heads_per_group);
        const std::int32_t first = group * heads_per_group;
        const std::int32_t in_group = index - first * row_tiles;
        const std::int32_t width = smaller(heads_per_group, heads - first);
        const std::int32_t from_end = in_group / width;
        return {row_tiles - 1 - from_end, first + in_group - from_end * width};
    }
};

struct Plan {
    Band band;
    Order order;  ///< work tiles() CTAs; 0: there is no query anywhere
};

/// Query heads that are worked on at a time: as many as half of the L2 holds the keys and values
/// of; the other half is for Q, the output and what has not been evicted yet. Under a causal mask
/// CTAs differ, and a group has at least two CTAs for every place: with the longest first, none is
/// then longer than what its place gets from this group on average. Groups are equal, so that the
/// last one ends as evenly.
inline std::int64_t heads_together(const Problem& p, const Tile& tile, const Device& device) {
    const std::int64_t heads = std::max<std::int64_t>(1, p.batch * p.heads_q);
    const std::int64_t head_bytes =
        std::max<std::int64_t>(1, p.seqlen_k * (p.headdim + p.headdim_v) * 2);
    const std::int64_t held = std::max<std::int64_t>(1, device.l2_bytes / 2 / head_bytes);
    std::int64_t together = held * p.group();
    if (p.window.right >= 0) {
        const std::int64_t places = std::int64_t{device.units} * tile.residents;
        const std::int64_t row_tiles = std::max<std::int64_t>(1, divide_up(p.seqlen_q, tile.rows));
        together = std::max(together, divide_up(2 * places, row_tiles));
    }
    const std::int64_t groups = std::max<std::int64_t>(1, heads / std::min(together, heads));
    return divide_up(divide_up(heads, groups), p.group()) * p.group();
}

/// Lengths at most schedule::longest_length, work tiles at most schedule::most_work_tiles.
inline Plan make_plan(const Problem& p, const Tile& tile, const Device& device) {
    return {.band = p.band(),
            .order = {static_cast<std::int32_t>(divide_up(p.seqlen_q, tile.rows)),
                      static_cast<std::int32_t>(p.batch * p.heads_q),
                      static_cast<std::int32_t>(heads_together(p, tile, device))}};
}

/// What the device code gets.
struct Params {
    AttentionArgs args;
    Band band;
    Order order;
    std::int32_t group;  ///< query heads a KV head
    float scale_log2;    ///< of a product, or of tanh where there is a softcap, to units of log2
    float cap_inner;     ///< of a softcap: scale / cap, what tanh takes products by; else 0
    bool by_hand;        ///< rows of a tensor are not aligned 16-byte chunks
};

/// The option of a variant: rows are read by hand.
struct Instances : InstancesOf<Params, tiles, 4> {
    static constexpr std::string_view engine = "prefill_mma";
    template <int tile, int variant>
    static constexpr bool compiled = variant < 2 || tile == by_hand_tile(tile);
    template <int tile, int variant>
    static auto code() -> void (*)(Params);
};

}  // namespace raceline::kernels::prefill_mma
