// SPDX-License-Identifier: Apache-2.0
// The tuning space of mla and how a call is cut: the same answer for the workspace query, the
// counts and the launch.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::mla {

struct Tile {
    std::int32_t waves;  ///< of CTAs that the splits make on the device; 0: the keys stay whole

    static constexpr auto fields() {
        return std::array<TileField<Tile>, 1>{{{"waves", &Tile::waves}}};
    }
};

inline constexpr std::array<Tile, 5> tiles{{{1}, {2}, {4}, {8}, {0}}};

inline constexpr int latent = 512;  ///< columns that are K's and V's
inline constexpr int rope = 64;     ///< columns that are K's alone
inline constexpr int width = latent + rope;

inline constexpr int warps = 8;
inline constexpr int threads = 32 * warps;
inline constexpr int tile_keys = 64;
inline constexpr std::int64_t stage_bytes = std::int64_t{2} * tile_keys * width;

/// Floats that one CTA leaves of a row: outputs, then maximum and sum, padded to 16 bytes.
inline constexpr int part_floats = latent + 4;

/// How the query heads of a CTA lie in it.
struct Packing {
    int rows;       ///< of a warp: 1, 2 or 4
    int row_warps;  ///< that together hold the CTA's heads: 1, 2, 4 or 8
};
inline constexpr int most_rows = 4;  ///< 18 floats of Q and 16 of the output of each in a lane
inline constexpr int most_heads = most_rows * warps;  ///< of a CTA
constexpr Packing packing_of(std::int64_t heads) {
    Packing p{1, 1};
    while (p.rows < most_rows && p.rows < heads) {
        p.rows *= 2;
    }
    while (p.row_warps < warps && std::int64_t{p.rows} * p.row_warps < heads) {
        p.row_warps *= 2;
    }
    return p;
}

struct Plan {
    std::int64_t rows;         ///< (sequence, query head) pairs
    std::int64_t head_blocks;  ///< CTAs that share a split's keys
    std::int64_t groups;       ///< (sequence, block of heads) pairs: a CTA for each split of them
    std::int64_t splits;       ///< of every sequence's keys
    std::int64_t keys;         ///< of one split; the last one may have fewer
    std::size_t workspace_bytes;
};

/// As many splits as fill the device `waves` times, with the one CTA that registers allow a unit.
inline Plan make_plan(std::int64_t batch, std::int64_t heads, std::int64_t keys, const Tile& tile,
                      const Device& device) {
    Plan plan{.rows = batch * heads,
              .head_blocks = (heads + most_heads - 1) / most_heads,
              .groups = 0,
              .splits = 1,
              .keys = keys,
              .workspace_bytes = 0};
    plan.groups = batch * plan.head_blocks;
    // A split has a key for every warp.
    const std::int64_t most = std::max<std::int64_t>(1, (keys + warps - 1) / warps);
    const std::int64_t wanted = std::clamp<std::int64_t>(
        std::int64_t{tile.waves} * device.units / std::max<std::int64_t>(1, plan.groups), 1, most);
    if (wanted > 1) {
        plan.keys = (keys + wanted - 1) / wanted;
        plan.splits = (keys + plan.keys - 1) / plan.keys;  // none of them empty
        const std::int64_t floats = plan.rows * plan.splits * part_floats;
        // 16 bytes more, for aligning the caller's address.
        plan.workspace_bytes = static_cast<std::size_t>(floats) * sizeof(float) + 16;
    }
    return plan;
}

}  // namespace raceline::kernels::mla
