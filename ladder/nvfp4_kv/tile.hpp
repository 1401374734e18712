// SPDX-License-Identifier: Apache-2.0
// The tuning space of nvfp4_kv and how a call is cut: the same answer for the workspace
// query, the counts and the launch.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::nvfp4_kv {

struct Tile {
    std::int32_t waves;  ///< of CTAs that the splits make on the device; 0: the keys stay whole

    static constexpr auto fields() {
        return std::array<TileField<Tile>, 1>{{{"waves", &Tile::waves}}};
    }
};

inline constexpr std::array<Tile, 6> tiles{{{1}, {2}, {4}, {8}, {32}, {0}}};

inline constexpr int warps = 4;
inline constexpr int threads = 32 * warps;

/// Keys of a tile: at head dim 128 one block of 32 for each of the four warps.
constexpr int tile_keys(int headdim) {
    return 128 * 128 / headdim;
}
/// Halves from row to row of K: 16 bytes more, so that 32 lanes read 32 rows without a conflict.
constexpr int pitch_of(int headdim) {
    return headdim + 8;
}

/// Floats that one CTA leaves of a row: outputs, then maximum and sum, padded to 16 bytes.
constexpr int part_floats(int headdim) {
    return headdim + 4;
}

/// How the rows of a group lie in a CTA.
struct Packing {
    int rows;       ///< of a warp: 1, 2, 4 or 8
    int row_warps;  ///< that together hold the group: 1, 2 or 4
};
inline constexpr int most_rows = 8;
inline constexpr int widest_group = most_rows * warps;
constexpr Packing packing_of(std::int64_t group) {
    Packing p{1, 1};
    while (p.rows < most_rows && p.rows < group) {
        p.rows *= 2;
    }
    while (std::int64_t{p.rows} * p.row_warps < group) {
        p.row_warps *= 2;
    }
    return p;
}

/// K and V, the warps' probabilities, the rows of Q as floats.
constexpr std::int64_t smem_bytes(int headdim, const Packing& p) {
    const std::int64_t keys = tile_keys(headdim);
    const std::int64_t columns = pitch_of(headdim) + headdim;
    return 2 * keys * columns + 4 * (std::int64_t{warps} * p.rows * 32) +
           4 * (std::int64_t{p.rows} * p.row_warps * headdim);
}

/// CTAs that a unit holds: shared memory decides, registers would allow no fewer.
inline std::int64_t resident_ctas(std::int64_t smem, const Device& device) {
    constexpr std::int64_t reserved = 1024;  // bytes of the system a CTA (CUDA programming guide)
    return std::max<std::int64_t>(1, device.smem_bytes_per_unit / (smem + reserved));
}

struct Plan {
    std::int64_t rows;    ///< (sequence, query head) pairs
    std::int64_t groups;  ///< (sequence, KV head) pairs: a CTA for each split of them
    std::int64_t splits;  ///< of every group's keys
    std::int64_t keys;    ///< of one split; the last one may have fewer
    std::int64_t smem_bytes;
    std::size_t workspace_bytes;
};

/// As many splits as fill the device `waves` times: from its units and what one of them holds.
inline Plan make_plan(std::int64_t batch, std::int64_t heads_q, std::int64_t heads_kv,
                      std::int64_t keys, int headdim, const Tile& tile, const Device& device) {
    Plan plan{.rows = batch * heads_q,
              .groups = batch * heads_kv,
              .splits = 1,
              .keys = keys,
              .smem_bytes = smem_bytes(headdim, packing_of(heads_q / heads_kv)),
              .workspace_bytes = 0};
    // A split has a key for every warp.
    const std::int64_t most = std::max<std::int64_t>(1, (keys + warps - 1) / warps);
    const std::int64_t wanted =
        std::clamp<std::int64_t>(tile.waves * resident_ctas(plan.smem_bytes, device) *
                                     device.units / std::max<std::int64_t>(1, plan.rows),
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

}  // namespace raceline::kernels::nvfp4_kv
