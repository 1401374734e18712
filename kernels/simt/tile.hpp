// SPDX-License-Identifier: Apache-2.0
// The tuning space of simt, shared by host and device.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::simt {

/// A warp is 4 row groups of 8 lanes. Rows of a tile are (query, head of the group) pairs, so that
/// the heads that share a key/value head read it once.
struct Tile {
    std::int32_t rows;       ///< packed query rows a CTA owns
    std::int32_t keys;       ///< keys staged in shared memory at a time
    std::int32_t threads;    ///< of a CTA
    std::int32_t key_warps;  ///< warps that share the rows and divide the staged keys

    bool operator==(const Tile&) const = default;
    static constexpr std::array<TileField, 4> fields{"rows", "keys", "threads", "key_warps"};
    [[nodiscard]] constexpr int row_warps() const { return threads / 32 / key_warps; }
    [[nodiscard]] constexpr int rows_per_lane() const { return rows / (4 * row_warps()); }
    [[nodiscard]] constexpr int keys_per_warp() const { return keys / key_warps; }
    [[nodiscard]] constexpr int keys_per_lane() const { return keys_per_warp() / 8; }
    /// Pitch of a warp's probabilities in floats: 8 modulo 16 keeps four rows on distinct banks.
    [[nodiscard]] constexpr int probability_pitch() const { return keys_per_warp() + 8; }
};

/// Few rows for decode (all warps on the same rows, each its own keys), many for prefill.
inline constexpr std::array<Tile, 6> tiles{{
    {4, 64, 128, 4},
    {8, 64, 128, 4},
    {16, 64, 128, 4},
    {16, 32, 128, 1},
    {32, 32, 128, 1},
    {64, 32, 128, 1},
}};

/// Widths of V that device code is compiled for; a V in between is padded with zeros.
inline constexpr std::array<std::int32_t, 6> v_widths{32, 64, 128, 192, 256, 512};

/// Output accumulators a lane holds. Beyond 64 the compiler would run out of registers.
constexpr int accumulators(const Tile& tile, int v_width) {
    return tile.rows_per_lane() * v_width / 8;
}
/// 16-byte loads of a thread in flight at once: many where the outputs leave registers for them.
constexpr int load_batch(const Tile& tile, int v_width) {
    return accumulators(tile, v_width) <= 32 && tile.rows <= 8 ? 8 : 4;
}
constexpr bool compiled(const Tile& tile, int v_width) {
    return accumulators(tile, v_width) <= 64;
}

constexpr bool valid(const Tile& t) {
    return t.threads % 32 == 0 && (t.threads / 32) % t.key_warps == 0 &&
           t.rows == 4 * t.row_warps() * t.rows_per_lane() && t.rows_per_lane() > 0 &&
           t.keys == 8 * t.key_warps * t.keys_per_lane() && t.keys_per_lane() > 0 &&
           t.keys_per_warp() % 16 == 0;
}
static_assert(std::ranges::all_of(tiles, valid));

/// Of a table with a row a tile and a column a width of V; 0 of what it does not have.
template <std::size_t count>
constexpr int entry_of(const std::array<std::array<int, v_widths.size()>, count>& table,
                       const std::array<Tile, count>& its_tiles, const Tile& tile, int v_width) {
    for (std::size_t t = 0; t < count; ++t) {
        for (std::size_t v = 0; v < v_widths.size(); ++v) {
            if (its_tiles[t] == tile && v_widths[v] == v_width) {
                return table[t][v];
            }
        }
    }
    return 0;
}

/// Registers of a thread as the compiler reports them for sm_90; 0 where nothing is compiled. A
/// test compares them with its report.
constexpr int declared_registers(const Tile& tile, int v_width) {
    // Rows as in `tiles`, columns as in `v_widths`.
    constexpr std::array<std::array<int, v_widths.size()>, tiles.size()> table{{
        {154, 156, 161, 157, 158, 157},
        {155, 145, 155, 155, 167, 0},
        {120, 128, 168, 0, 0, 0},
        {90, 90, 117, 118, 123, 157},
        {119, 115, 126, 158, 167, 0},
        {128, 160, 168, 0, 0, 0},
    }};
    return entry_of(table, tiles, tile, v_width);
}

}  // namespace raceline::kernels::simt
