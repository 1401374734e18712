// SPDX-License-Identifier: Apache-2.0
// The tuning space of mla_tensor and how a call is cut: the same answer for the workspace query,
// the counts and the launch.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::mla_tensor {

struct Tile {
    std::int32_t waves;  ///< of CTAs that the splits make on the device; 0: the keys stay whole

    static constexpr auto fields() {
        return std::array<TileField<Tile>, 1>{{{"waves", &Tile::waves}}};
    }
};

inline constexpr std::array<Tile, 4> tiles{{{1}, {2}, {4}, {0}}};

inline constexpr int latent = 512;  ///< columns that are K's and V's
inline constexpr int rope = 64;     ///< columns that are K's alone
inline constexpr int width = latent + rope;

inline constexpr int most_heads = 64;  ///< of a CTA: the rows of its matrix products
inline constexpr int tile_keys = 64;
inline constexpr int warps = 8;  ///< two warpgroups: 32 keys' scores and 256 value columns each
inline constexpr int threads = 32 * warps;

/// Shared memory: Q and two stages of the latent, each in slabs of 64 columns, then what the
/// warpgroups tell each other of every thread: probabilities (eight words) and two maxima or sums.
inline constexpr int slab_bytes = 64 * 128;  ///< 64 rows
inline constexpr int operand_bytes = width / 64 * slab_bytes;
inline constexpr int swizzle_bytes = 1024;  ///< slabs start at multiples
inline constexpr std::int64_t smem_bytes =
    3 * operand_bytes + threads * (8 + 2) * 4 + swizzle_bytes;

/// Floats that one CTA leaves of a row: outputs, then maximum and sum, padded to 16 bytes.
inline constexpr int part_floats = latent + 4;

struct Plan {
    std::int64_t rows;         ///< (sequence, query head) pairs
    std::int64_t head_blocks;  ///< CTAs that share a split's keys
    std::int64_t splits;       ///< of every sequence's keys
    std::int64_t keys;         ///< of one split, whole tiles; the last one may have fewer
    std::int64_t ctas;
    std::size_t workspace_bytes;
};

/// As many splits as fill the device `waves` times, with the one CTA that shared memory allows.
inline Plan make_plan(std::int64_t batch, std::int64_t heads, std::int64_t keys, const Tile& tile,
                      const Device& device) {
    Plan plan{.rows = batch * heads,
              .head_blocks = (heads + most_heads - 1) / most_heads,
              .splits = 1,
              .keys = keys,
              .ctas = 0,
              .workspace_bytes = 0};
    const std::int64_t groups = batch * plan.head_blocks;
    const std::int64_t key_tiles = std::max<std::int64_t>(1, (keys + tile_keys - 1) / tile_keys);
    const std::int64_t wanted = std::clamp<std::int64_t>(
        std::int64_t{tile.waves} * device.units / std::max<std::int64_t>(1, groups), 1, key_tiles);
    if (wanted > 1) {
        plan.keys = (key_tiles + wanted - 1) / wanted * tile_keys;
        plan.splits = (keys + plan.keys - 1) / plan.keys;  // none of them empty
        const std::int64_t floats = plan.rows * plan.splits * part_floats;
        // 16 bytes more, for aligning the caller's address.
        plan.workspace_bytes = static_cast<std::size_t>(floats) * sizeof(float) + 16;
    }
    plan.ctas = groups * plan.splits;
    return plan;
}

}  // namespace raceline::kernels::mla_tensor
