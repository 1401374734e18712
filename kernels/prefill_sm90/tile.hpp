// SPDX-License-Identifier: Apache-2.0
// The tuning space of prefill_sm90 and what follows from a tile, shared by host and device.
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::prefill_sm90 {

/// A CTA has one producer warpgroup that starts copies and rows / 64 matrix warpgroups.
struct Tile {
    std::int32_t headdim;    ///< of Q and K in shared memory: the call's, rounded up
    std::int32_t headdim_v;  ///< of V in shared memory and of the accumulators
    std::int32_t rows;       ///< query rows a CTA works on at a time, 64 a matrix warpgroup
    std::int32_t keys;       ///< keys of one block
    std::int32_t stages;     ///< blocks of K and of V that shared memory holds
    std::int32_t turns;      ///< 1: the warpgroups take turns at issuing products; 0: they do not

    bool operator==(const Tile&) const = default;
    static constexpr auto fields() {
        return std::array<TileField<Tile>, 6>{{{"headdim", &Tile::headdim},
                                               {"headdim_v", &Tile::headdim_v},
                                               {"rows", &Tile::rows},
                                               {"keys", &Tile::keys},
                                               {"stages", &Tile::stages},
                                               {"turns", &Tile::turns}}};
    }
    [[nodiscard]] constexpr int warpgroups() const { return rows / 64; }
    [[nodiscard]] constexpr int threads() const { return 128 * (warpgroups() + 1); }
    [[nodiscard]] constexpr int q_bytes() const { return rows * headdim * 2; }
    [[nodiscard]] constexpr int q_piece_bytes() const { return 64 * headdim * 2; }
    [[nodiscard]] constexpr int out_piece_bytes() const { return 64 * headdim_v * 2; }
    [[nodiscard]] constexpr int k_bytes() const { return keys * headdim * 2; }
    [[nodiscard]] constexpr int v_bytes() const { return keys * headdim_v * 2; }
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
    for (const Tile& capped : capped_tiles) {
        if (tile == capped) {
            return true;
        }
    }
    return false;
}

/// Columns of 16 bits in one 128-byte row of swizzled shared memory, and bytes of such a row.
inline constexpr int slab_columns = 64;
inline constexpr int slab_row_bytes = 128;

/// Registers of a thread after setmaxnreg. The sums are what the launch bound gave the CTA: 168
/// times 384 threads, 128 times 512, 96 times 640.
struct RegisterSplit {
    int entry, producer, matrix;
};
constexpr RegisterSplit register_split(const Tile& tile) {
    constexpr RegisterSplit of_warpgroups[] = {{168, 40, 232}, {128, 32, 160}, {96, 32, 112}};
    return of_warpgroups[tile.warpgroups() - 2];
}

/// Items that are announced at a time: one whose rows are still to be written, the one worked on
/// and the one whose copies come next.
inline constexpr int announced_items = 3;
/// Bytes of an announcement, a multiple of 16 (announcement.cuh).
constexpr int announcement_bytes(int warpgroups) {
    return 16 * (4 + warpgroups);
}

/// Bytes from the start of a CTA's shared memory, which is a multiple of 1024: the pieces of Q (64
/// rows each), those of outputs, the stages of K, those of V, the barriers, the announced items.
struct SharedLayout {
    int q_pieces;    ///< a matrix warpgroup has one an item
    int out_pieces;  ///< every matrix warpgroup's, or 0
    int out, k, v, barriers, announced, bytes;
};
constexpr SharedLayout shared_layout(const Tile& tile, int q_pieces, int out_pieces) {
    const int out = q_pieces * tile.q_piece_bytes();
    const int k = out + out_pieces * tile.out_piece_bytes();
    const int v = k + tile.stages * tile.k_bytes();
    const int barriers = v + tile.stages * tile.v_bytes();
    const int count = 2 * q_pieces + 2 * out_pieces + 4 * tile.stages + 2 * announced_items + 1;
    const int announced = barriers + (8 * count + 15) / 16 * 16;
    return {q_pieces,  out_pieces,
            out,       k,
            v,         barriers,
            announced, announced + announced_items * announcement_bytes(tile.warpgroups())};
}
/// Dynamic shared memory may start at any multiple of 16 and is rounded up to the swizzle's 1024.
inline constexpr int shared_slack = 1024 - 16;
inline constexpr int most_shared = 232448;  // of a CTA on Hopper (CUDA C++ Programming Guide)
constexpr bool fits(const SharedLayout& layout) {
    return layout.bytes + shared_slack <= most_shared;
}
/// Pieces of Q for two items let the next item's Q come while this item's is in use; where fewer
/// fit, some warpgroup's does. Outputs have pieces of their own where all but one of those still
/// fit.
constexpr SharedLayout shared_layout(const Tile& tile) {
    const int warpgroups = tile.warpgroups();
    for (const int out_pieces : {warpgroups, 0}) {
        const int fewest = out_pieces > 0 ? 2 * warpgroups - 1 : warpgroups;
        for (int q_pieces = 2 * warpgroups; q_pieces >= fewest; --q_pieces) {
            if (fits(shared_layout(tile, q_pieces, out_pieces))) {
                return shared_layout(tile, q_pieces, out_pieces);
            }
        }
    }
    return shared_layout(tile, warpgroups, 0);  // too much: valid() refuses it
}
/// Whether outputs leave through shared memory.
constexpr bool stores_boxes(const Tile& tile) {
    return shared_layout(tile).out_pieces > 0;
}
/// What a launch asks for.
constexpr int shared_bytes(const Tile& tile) {
    return shared_layout(tile).bytes + shared_slack;
}

constexpr bool valid(const Tile& t) {
    const RegisterSplit r = register_split(t);
    return t.headdim % slab_columns == 0 && t.headdim_v % slab_columns == 0 &&
           t.headdim_v <= t.headdim && t.rows % 64 == 0 && t.warpgroups() >= 2 &&
           t.warpgroups() <= 4 && t.keys % 16 == 0 && t.keys <= 256 && t.headdim_v <= 256 &&
           t.stages >= 2 && shared_bytes(t) <= most_shared &&
           128 * (r.producer + t.warpgroups() * r.matrix) <= r.entry * t.threads();
}
static_assert([] {
    for (const Tile& tile : tiles) {
        if (!valid(tile)) {
            return false;
        }
    }
    return true;
}());

/// The narrowest pair of head dims that serves a call, as a tile's headdim and headdim_v; zeros if
/// none does.
struct Widths {
    std::int32_t headdim, headdim_v;
    bool operator==(const Widths&) const = default;
};
constexpr Widths widths_for(std::int64_t headdim, std::int64_t headdim_v) {
    Widths best{0, 0};
    for (const Tile& t : tiles) {
        const bool serves = headdim <= t.headdim && headdim_v <= t.headdim_v;
        const bool narrower =
            best.headdim == 0 || t.headdim + t.headdim_v < best.headdim + best.headdim_v;
        if (serves && narrower) {
            best = {t.headdim, t.headdim_v};
        }
    }
    return best;
}

}  // namespace raceline::kernels::prefill_sm90
