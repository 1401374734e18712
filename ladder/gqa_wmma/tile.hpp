// SPDX-License-Identifier: Apache-2.0
// The tuning space of gqa_wmma and how a call is cut: the same answer for the workspace query, the
// counts and the launch.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::gqa_wmma {

struct Tile {
    std::int32_t waves;  ///< of CTAs that the splits make on the device; 0: the keys stay whole

    static constexpr auto fields() {
        return std::array<TileField<Tile>, 1>{{{"waves", &Tile::waves}}};
    }
};

inline constexpr std::array<Tile, 6> tiles{{{1}, {2}, {4}, {8}, {32}, {0}}};

inline constexpr int warps = 4;
inline constexpr int threads = 32 * warps;
inline constexpr int most_keys = 192;  ///< of a tile, at head dim 128: two CTAs an SM

/// Halves from row to row of a tile: 16 bytes more, so that the rows of a fragment lie on distinct
/// banks.
constexpr int pitch_of(int headdim) {
    return headdim + 8;
}
/// Keys of a tile: whole blocks of sixteen for each of the four warps.
constexpr int tile_keys(int headdim) {
    return most_keys * pitch_of(128) / pitch_of(headdim) / 64 * 64;
}
inline constexpr int scratch_pitch = 24;  ///< of a warp's 16 x 16 scores and probabilities
inline constexpr int scratch_bytes = 16 * scratch_pitch * 6 + 16 * 4;
/// K and V, then the warps' scratch.
constexpr std::int64_t smem_bytes(int headdim) {
    return std::int64_t{2} * 2 * tile_keys(headdim) * pitch_of(headdim) + warps * scratch_bytes;
}

/// Floats that one CTA leaves of a row: outputs, then maximum and sum, padded to 16 bytes.
constexpr int part_floats(int headdim) {
    return headdim + 4;
}

/// CTAs that a unit holds: shared memory decides, registers would allow no more either.
inline std::int64_t resident_ctas(int headdim, const Device& device) {
    constexpr std::int64_t reserved = 1024;  // bytes of the system a CTA (CUDA programming guide)
    return std::max<std::int64_t>(1, device.smem_bytes_per_unit / (smem_bytes(headdim) + reserved));
}

inline constexpr int widest_group = 32;
/// Warps that together hold the group, sixteen rows each.
constexpr int row_warps_of(std::int64_t group) {
    return group > 16 ? 2 : 1;
}

struct Plan {
    std::int64_t rows;    ///< (sequence, query head) pairs
    std::int64_t groups;  ///< (sequence, KV head) pairs: a CTA for each split of them
    std::int64_t splits;  ///< of every group's keys
    std::int64_t keys;    ///< of one split; the last one may have fewer
    std::size_t workspace_bytes;
};

/// As many splits as fill the device `waves` times: from its units and what one of them holds.
inline Plan make_plan(std::int64_t batch, std::int64_t heads_q, std::int64_t heads_kv,
                      std::int64_t keys, int headdim, const Tile& tile, const Device& device) {
    Plan plan{.rows = batch * heads_q,
              .groups = batch * heads_kv,
              .splits = 1,
              .keys = keys,
              .workspace_bytes = 0};
    // A split has a key for every warp.
    const std::int64_t most = std::max<std::int64_t>(1, (keys + warps - 1) / warps);
    const std::int64_t wanted =
        std::clamp<std::int64_t>(tile.waves * resident_ctas(headdim, device) * device.units /
                                     std::max<std::int64_t>(1, plan.rows),
                                 1, most);
    if (wanted > 1) {
        plan.keys = (keys + wanted - 1) / wanted;
        plan.splits = (keys + plan.keys - 1) / plan.keys;  // none of them empty
        const std::int64_t floats = plan.rows * plan.splits * part_floats(headdim);
        // 16 bytes more, for aligning the caller's address.
        plan.workspace_bytes = static_cast<std::size_t>(floats) * sizeof(float) + 16;
    }
    return plan;
}

}  // namespace raceline::kernels::gqa_wmma
