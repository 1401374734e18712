// SPDX-License-Identifier: Apache-2.0
// The tuning space of the decode rungs and how a call is cut: the same answer for the workspace
// query, the counts and the launch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::decode {

struct Tile {
    std::int32_t waves;  ///< of CTAs that the splits make on the device; 0: the keys stay whole

    static constexpr std::array<TileField, 1> fields{"waves"};
};

inline constexpr std::array<Tile, 6> tiles{{{1}, {2}, {4}, {8}, {32}, {0}}};

inline constexpr int warps = 4;  ///< of a CTA
inline constexpr int threads = 32 * warps;

/// Of K and V together: two CTAs an SM.
inline constexpr std::int64_t stage_bytes = std::int64_t{96} * 1024;

/// Keys that K's half of a stage holds.
constexpr int tile_keys(std::int64_t bytes, int headdim, int element_bytes) {
    return static_cast<int>(bytes / 2 / headdim / element_bytes);
}
inline double tile_keys_of(std::int64_t bytes, const Workload& w) {
    return tile_keys(bytes, static_cast<int>(w.headdim), static_cast<int>(bytes_of(w.dtype)));
}

/// Floats that one CTA leaves of a row: outputs, then maximum and sum, padded to 16 bytes.
constexpr int part_floats(int columns) {
    return columns + 4;
}

/// How the rows of a CTA lie in its warps.
struct Packing {
    int rows;       ///< of a warp: a power of two
    int row_warps;  ///< that together hold the CTA's rows, another power of two
};
inline constexpr int most_rows = 8;
inline constexpr int widest_group = most_rows * warps;
constexpr Packing packing_of(std::int64_t heads, int most = most_rows, int all_warps = warps) {
    Packing p{1, 1};
    while (p.rows < most && p.rows < heads) {
        p.rows *= 2;
    }
    while (p.row_warps < all_warps && std::int64_t{p.rows} * p.row_warps < heads) {
        p.row_warps *= 2;
    }
    return p;
}

/// Warps that divide the keys.
constexpr int key_warps_of(int row_warps, int all_warps = warps) {
    return all_warps / row_warps;
}

/// What of a call decides how it is cut.
struct Call {
    std::int64_t batch, heads_q, heads_kv, keys;
    int headdim;

    [[nodiscard]] constexpr std::int64_t group() const { return heads_q / heads_kv; }
};
Call call_of(const Workload& w);
Call call_of(const AttentionArgs& a);

/// What a rung says of its CTAs.
struct Layout {
    std::int64_t cta_rows;        ///< query heads of a CTA, all with one KV head
    std::int64_t smem_bytes;      ///< of a CTA
    int columns;                  ///< of V
    std::int64_t fewest = warps;  ///< keys of a split: one for every warp
    std::int64_t multiple = 1;    ///< keys of a split are one of it
    std::int64_t most_ctas = 32;  ///< of a unit; shared memory may allow fewer
    bool counts_groups = false;   ///< a wave is made of groups of rows, not of rows
};

struct Plan {
    std::int64_t rows;      ///< (sequence, query head) pairs
    std::int64_t groups;    ///< of rows that share a CTA, one for each split of them
    std::int64_t splits;    ///< of every group's keys
    std::int64_t keys;      ///< of one split; the last one may have fewer
    std::int64_t resident;  ///< CTAs that a unit holds
    std::int64_t smem_bytes;
    std::size_t workspace_bytes;
};

/// As many splits as fill the device `waves` times: from its units and what one of them holds.
Plan plan_of(const Layout& layout, const Call& call, const Tile& tile, const Device& device);

}  // namespace raceline::kernels::decode
