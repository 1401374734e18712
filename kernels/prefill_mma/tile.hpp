// SPDX-License-Identifier: Apache-2.0
// The tuning space of prefill_mma and what follows from a tile, shared by host and device.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "registry/cuda_limits.hpp"
#include "registry/kernel.hpp"

namespace raceline::kernels::prefill_mma {

/// A warp owns 16 query rows, or 32 where registers allow it, since it reads all of K and V from
/// shared memory for them. At head dim 256 they do not: there two warps may share 32 rows, each
/// with half of a block's keys in the product with K and half of V's columns in that with P.
struct Tile {
    std::int32_t headdim;      ///< of Q and K in shared memory: the call's, rounded up
    std::int32_t headdim_v;    ///< of V in shared memory and of the accumulators
    std::int32_t rows;         ///< query rows of a CTA
    std::int32_t keys;         ///< keys of one block
    std::int32_t warps;        ///< of a CTA
    std::int32_t stages;       ///< blocks of K and of V that shared memory holds: 1 or 2
    std::int32_t q_registers;  ///< 1: a warp keeps its Q in registers; 0: reads it for every block
    std::int32_t residents;    ///< CTAs that the registers of an SM must hold
    std::int32_t sharers = 1;  ///< warps that share rows: 1 or 2

    bool operator==(const Tile&) const = default;
    static constexpr std::array<TileField, 9> fields{"headdim",     "headdim_v", "rows",
                                                     "keys",        "warps",     "stages",
                                                     "q_registers", "residents", "sharers"};
    [[nodiscard]] constexpr int threads() const { return 32 * warps; }
    [[nodiscard]] constexpr int warp_rows() const { return rows * sharers / warps; }
    /// Of a block, those whose scores a warp has.
    [[nodiscard]] constexpr int warp_keys() const { return keys / sharers; }
    /// Of the output, those that a warp sums.
    [[nodiscard]] constexpr int warp_columns() const { return headdim_v / sharers; }
    /// 16-row products that a warp does with each fragment of K and V.
    [[nodiscard]] constexpr int row_groups() const { return warp_rows() / 16; }
    [[nodiscard]] constexpr int q_bytes() const { return rows * headdim * 2; }
    [[nodiscard]] constexpr int k_bytes() const { return keys * headdim * 2; }
    [[nodiscard]] constexpr int v_bytes() const { return keys * headdim_v * 2; }
};

inline constexpr std::array<Tile, 29> tiles{{
    {64, 64, 128, 64, 4, 2, 1, 2},     {64, 64, 128, 64, 4, 2, 0, 3},
    {64, 64, 128, 32, 4, 2, 0, 3},     {64, 64, 128, 96, 4, 2, 1, 2},
    {64, 64, 128, 128, 4, 1, 0, 2},    {64, 64, 256, 64, 8, 2, 1, 1},
    {64, 64, 64, 64, 4, 2, 0, 4},      {128, 128, 128, 64, 4, 2, 0, 2},
    {128, 128, 128, 64, 4, 1, 0, 2},   {128, 128, 256, 64, 8, 2, 0, 1},
    {128, 128, 128, 48, 4, 2, 0, 2},   {128, 128, 128, 32, 4, 2, 0, 2},
    {128, 128, 128, 32, 4, 1, 0, 2},   {128, 128, 64, 64, 4, 2, 1, 2},
    {128, 128, 64, 64, 4, 1, 0, 3},    {192, 128, 128, 64, 4, 1, 0, 2},
    {192, 128, 256, 64, 8, 1, 0, 1},   {192, 128, 128, 48, 4, 1, 0, 2},
    {192, 128, 128, 32, 4, 2, 0, 2},   {192, 128, 64, 64, 4, 1, 0, 3},
    {192, 128, 64, 32, 4, 1, 0, 3},    {256, 256, 64, 64, 4, 1, 0, 2},
    {256, 256, 128, 64, 8, 1, 0, 1},   {256, 256, 128, 32, 8, 2, 0, 1},
    {256, 256, 64, 48, 4, 1, 0, 2},    {256, 256, 64, 32, 4, 2, 0, 2},
    {256, 256, 64, 32, 4, 1, 0, 2},    {256, 256, 128, 64, 8, 2, 0, 1, 2},
    {256, 256, 64, 64, 4, 1, 0, 2, 2},
}};

/// Columns of 16 bits in one 128-byte row of swizzled shared memory, and bytes of such a row.
inline constexpr int slab_columns = 64;
inline constexpr int slab_row_bytes = 128;

/// What two warps that share rows give each other: a warp's probabilities as the operands that its
/// registers hold, and one float a row.
constexpr int warp_operand_bytes(const Tile& tile) {
    return tile.warp_rows() * tile.warp_keys() * 2;
}
constexpr int warp_row_bytes(const Tile& tile) {
    return tile.warp_rows() * 4;
}
constexpr int given_bytes(const Tile& tile) {
    return tile.sharers == 1 ? 0 : tile.warps * (warp_operand_bytes(tile) + warp_row_bytes(tile));
}

/// Bytes from the start of a CTA's shared memory, which is a multiple of 128: Q, the stages of K,
/// those of V, what warps give each other.
struct SharedLayout {
    int k, v, given, bytes;
};
constexpr SharedLayout shared_layout(const Tile& tile) {
    const int k = tile.q_bytes();
    const int v = k + tile.stages * tile.k_bytes();
    const int given = v + tile.stages * tile.v_bytes();
    return {k, v, given, given + given_bytes(tile)};
}
/// What a launch asks for: dynamic shared memory may start at any multiple of 16.
constexpr int shared_bytes(const Tile& tile) {
    return shared_layout(tile).bytes + slab_row_bytes - 16;
}
/// With what the kernel itself declares, what a CTA has to do.
inline constexpr int work_bytes = 64;
constexpr int all_shared_bytes(const Tile& tile) {
    return shared_bytes(tile) + work_bytes;
}

constexpr bool valid(const Tile& t) {
    constexpr int most_registers = 255;       // of a thread
    const int copied_rows = t.threads() / 8;  // that one pass of all threads copies
    const int held =
        t.row_groups() * (t.warp_columns() / 2 + t.warp_keys() / 2 + t.q_registers * t.headdim / 4);
    return t.headdim % slab_columns == 0 && t.headdim_v % slab_columns == 0 &&
           (t.sharers == 1 || t.sharers == 2) && t.warps % t.sharers == 0 &&
           t.rows * t.sharers == 16 * t.row_groups() * t.warps && t.row_groups() > 0 &&
           t.warp_keys() % 16 == 0 && t.warp_columns() % slab_columns == 0 &&
           t.rows % copied_rows == 0 && t.keys % copied_rows == 0 && t.stages >= 1 &&
           t.stages <= 2 && t.residents * t.threads() <= 1536 && held < most_registers &&
           all_shared_bytes(t) <= most_smem_bytes;
}
static_assert(std::ranges::all_of(tiles, valid));

/// The tile that stands in for `index` where rows are no aligned 16-byte chunks and are copied by
/// loads and stores: the first of these head dims with 16 rows a warp, which leaves registers for
/// that.
constexpr int by_hand_tile(int index) {
    const auto count = static_cast<int>(tiles.size());
    for (int i = 0; i < count; ++i) {
        if (tiles[i].headdim == tiles[index].headdim &&
            tiles[i].headdim_v == tiles[index].headdim_v && tiles[i].row_groups() == 1) {
            return i;
        }
    }
    return index;
}

/// Registers of a thread, by tile, as ptxas gives them for sm_90: the most of both dtypes. A test
/// compares them with the compiler's report.
inline constexpr std::array<int, tiles.size()> tile_registers{
    219, 168, 161, 245, 255, 223, 118, 255, 255, 255, 243, 231, 239, 199, 167,
    255, 255, 255, 231, 167, 159, 241, 241, 235, 241, 241, 241, 241, 243};

constexpr int declared_registers(const Tile& tile) {
    const auto* const found = std::ranges::find(tiles, tile);
    return found == tiles.end() ? 255 : tile_registers[found - tiles.begin()];
}

}  // namespace raceline::kernels::prefill_mma
