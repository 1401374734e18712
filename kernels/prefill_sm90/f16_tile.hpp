// SPDX-License-Identifier: Apache-2.0
// The tuning space of prefill_sm90 and what follows from a tile, shared by host and device.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/prefill_sm90/tile.hpp"
#include "registry/kernel.hpp"

namespace raceline::kernels::prefill_sm90 {

using namespace hopper;

/// A CTA has one producer warpgroup that starts copies and rows / 64 matrix warpgroups.
struct Tile {
    std::int32_t headdim;    ///< of Q and K in shared memory: the call's, rounded up
    std::int32_t headdim_v;  ///< of V in shared memory and of the accumulators
    std::int32_t rows;       ///< query rows a CTA works on at a time, 64 a matrix warpgroup
    std::int32_t keys;       ///< keys of one block
    std::int32_t stages;     ///< blocks of K and of V that shared memory holds
    std::int32_t turns;      ///< 1: the warpgroups take turns at issuing products; 0: they do not

    static constexpr bool eight_bits = false;
    /// Work tiles that are described at a time: one whose rows are still to be written, the one
    /// worked on and the one whose copies come next.
    static constexpr int descriptor_slots = 3;
    /// Rows of 16 bytes of a descriptor before those of the warpgroups.
    static constexpr int descriptor_rows = 4;

    bool operator==(const Tile&) const = default;
    static constexpr std::array<TileField, 6> fields{"headdim", "headdim_v", "rows",
                                                     "keys",    "stages",    "turns"};
    [[nodiscard]] constexpr int warpgroups() const { return rows / 64; }
    [[nodiscard]] constexpr int threads() const { return 128 * (warpgroups() + 1); }
    [[nodiscard]] constexpr int q_bytes() const { return rows * headdim * 2; }
    [[nodiscard]] constexpr int q_stage_bytes() const { return 64 * headdim * 2; }
    [[nodiscard]] constexpr int out_buffer_bytes() const { return 64 * headdim_v * 2; }
    [[nodiscard]] constexpr int k_bytes() const { return keys * headdim * 2; }
    [[nodiscard]] constexpr int v_bytes() const { return keys * headdim_v * 2; }
    /// Products take V as it comes.
    [[nodiscard]] constexpr int raw_v_bytes() const { return 0; }
};

inline constexpr std::array<Tile, 26> tiles{{
    {64, 64, 192, 128, 2, 1},   {64, 64, 192, 128, 2, 0},   {64, 64, 192, 128, 4, 1},
    {64, 64, 192, 128, 4, 0},   {64, 64, 192, 112, 3, 1},   {64, 64, 256, 64, 4, 0},
    {64, 64, 128, 128, 4, 0},   {128, 128, 192, 64, 3, 0},  {128, 128, 192, 64, 3, 1},
    {128, 128, 128, 128, 2, 0}, {128, 128, 128, 128, 2, 1}, {128, 128, 128, 160, 2, 1},
    {128, 128, 128, 176, 2, 1}, {192, 128, 192, 64, 2, 1},  {192, 128, 128, 112, 2, 1},
    {192, 128, 128, 128, 2, 1}, {192, 128, 128, 96, 2, 1},  {192, 128, 128, 128, 2, 0},
    {192, 128, 128, 80, 2, 1},  {256, 256, 128, 64, 2, 0},  {256, 256, 128, 64, 2, 1},
    {256, 256, 128, 48, 3, 1},  {256, 256, 128, 48, 3, 0},  {256, 256, 128, 48, 2, 1},
    {256, 256, 128, 32, 4, 0},  {64, 64, 128, 128, 4, 1},
}};

/// Tiles that are compiled with a softcap too, one a pair of head dims: its exponentials and
/// reciprocals are the limit, so that what else tiles differ in matters little.
inline constexpr std::array<Tile, 4> capped_tiles{{{64, 64, 192, 112, 3, 1},
                                                   {128, 128, 192, 64, 3, 0},
                                                   {192, 128, 192, 64, 2, 1},
                                                   {256, 256, 128, 64, 2, 0}}};
constexpr bool caps(const Tile& tile) {
    return std::ranges::find(capped_tiles, tile) != capped_tiles.end();
}

/// Stages of Q for two work tiles let the next work tile's Q come while this work tile's is in use;
/// where fewer fit, some warpgroup's does. Outputs have buffers of their own where all but one of
/// those still fit.
constexpr SharedLayout shared_layout(const Tile& tile) {
    const int warpgroups = tile.warpgroups();
    for (const int out_buffers : {warpgroups, 0}) {
        const int fewest = out_buffers > 0 ? 2 * warpgroups - 1 : warpgroups;
        for (int q_stages = 2 * warpgroups; q_stages >= fewest; --q_stages) {
            if (fits(layout_of(tile, q_stages, out_buffers))) {
                return layout_of(tile, q_stages, out_buffers);
            }
        }
    }
    return layout_of(tile, warpgroups, 0);  // too much: valid() refuses it
}

constexpr bool valid(const Tile& t) {
    return t.headdim % slab_columns == 0 && t.headdim_v % slab_columns == 0 &&
           t.headdim_v <= t.headdim && t.headdim_v <= 256 && t.warpgroups() >= 2 &&
           t.warpgroups() <= 4 && t.keys % 16 == 0 && fits_cta(t);
}
static_assert(std::ranges::all_of(tiles, valid));

}  // namespace raceline::kernels::prefill_sm90
