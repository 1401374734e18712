// SPDX-License-Identifier: Apache-2.0
// The tuning space of decode_sm90 and what follows from a tile, shared by host and device.
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::decode_sm90 {

/// Rows of a unit, at most: (query token, head of the group) pairs of one KV head, token by token.
inline constexpr int tile_rows = 16;
/// Keys that must lie in one page for copies of whole blocks. Pages of other sizes are copied chunk
/// by chunk.
inline constexpr int run_keys = 16;

/// Every warp of a CTA copies and multiplies blocks of keys of its own; those of one KV head meet
/// at the end of their part of a sequence.
struct Tile {
    std::int32_t headdim;     ///< of Q, K and V in shared memory: the call's larger one, rounded up
    std::int32_t keys;        ///< keys of one block, which one warp works on
    std::int32_t warps;       ///< of a CTA
    std::int32_t stages;      ///< blocks of K and V of a warp that shared memory holds
    std::int32_t residents;   ///< CTAs of an SM
    std::int32_t eight_bits;  ///< 1: of a cache in e4m3; 0: of one in Q's type
    std::int32_t together;    ///< KV heads that are read side by side, a warp a head; 0: one by one
    std::int32_t token_scales;  ///< 1: every key and value has a scale, e4m3 alone

    bool operator==(const Tile&) const = default;
    static constexpr std::array<TileField, 8> fields{"headdim",  "keys",        "warps",
                                                     "stages",   "residents",   "eight_bits",
                                                     "together", "token_scales"};
    [[nodiscard]] constexpr int threads() const { return 32 * warps; }
    /// KV heads of a unit.
    [[nodiscard]] constexpr int heads() const { return together > 0 ? together : 1; }
    /// Warps that take turns at the blocks of one head.
    [[nodiscard]] constexpr int sharers() const { return warps / heads(); }
    /// Bytes of a key in shared memory, and of a block of K or of V.
    [[nodiscard]] constexpr int row_bytes() const { return headdim * (eight_bits != 0 ? 1 : 2); }
    [[nodiscard]] constexpr int block_bytes() const { return keys * row_bytes(); }
    /// Chunks of 16 bytes of a key.
    [[nodiscard]] constexpr int chunks() const { return row_bytes() / 16; }
    /// Where the warps' outputs meet, half of the rows at a time: floats of a row, and bytes.
    [[nodiscard]] constexpr int meeting_pitch() const { return headdim + 4; }
    [[nodiscard]] constexpr int meeting_bytes() const {
        return warps * (tile_rows / 2 * meeting_pitch() * 4 + tile_rows * 8);
    }
    [[nodiscard]] constexpr int ring_bytes() const { return warps * stages * 2 * block_bytes(); }
    /// Where one thread tells the others whether their CTA is the last one of a unit: behind the
    /// first row that meets, where rows are kept apart.
    [[nodiscard]] constexpr int told_at() const { return ring_bytes() + headdim * 4; }
    /// Scales of a warp's blocks: of each stage those of its keys, then those of its values.
    [[nodiscard]] constexpr int scales_at() const { return ring_bytes() + meeting_bytes(); }
    [[nodiscard]] constexpr int scale_bytes() const {
        return token_scales != 0 ? 2 * keys * static_cast<int>(sizeof(float)) : 0;
    }
    [[nodiscard]] constexpr int shared_bytes() const {
        return scales_at() + warps * stages * scale_bytes();
    }
};

inline constexpr std::array<Tile, 19> tiles{{
    {64, 32, 8, 3, 1, 0, 0, 0},  {64, 32, 4, 3, 2, 0, 0, 0},  {64, 32, 8, 3, 1, 0, 8, 0},
    {128, 32, 4, 3, 1, 0, 0, 0}, {128, 16, 4, 3, 2, 0, 0, 0}, {128, 16, 8, 3, 1, 0, 0, 0},
    {256, 16, 4, 3, 1, 0, 0, 0}, {64, 64, 8, 3, 1, 1, 0, 0},  {64, 64, 4, 3, 2, 1, 0, 0},
    {64, 32, 8, 3, 1, 1, 0, 0},  {64, 64, 8, 3, 1, 1, 8, 0},  {128, 32, 4, 3, 2, 1, 0, 0},
    {128, 32, 8, 3, 1, 1, 0, 0}, {128, 32, 4, 3, 2, 1, 4, 0}, {256, 32, 4, 3, 1, 1, 0, 0},
    {64, 64, 8, 3, 1, 1, 0, 1},  {64, 64, 8, 3, 1, 1, 8, 1},  {128, 32, 6, 4, 1, 1, 0, 1},
    {256, 16, 4, 3, 1, 1, 0, 1},
}};

/// Bytes of shared memory that an SM has for its CTAs, and that the system takes of each (CUDA C++
/// Programming Guide, compute capability 9.0).
inline constexpr int shared_of_sm = 233472;
inline constexpr int shared_of_system = 1024;

/// Heads side by side: lanes of a warp fill whole keys of all of them, and warps the runs of 16
/// keys that lie in one page.
constexpr bool valid_together(const Tile& t) {
    return t.together == t.warps && t.together * t.chunks() % 32 == 0 && run_keys % t.warps == 0;
}
constexpr bool valid(const Tile& t) {
    return t.headdim % 64 == 0 && t.headdim <= 256 && t.keys % run_keys == 0 && t.stages >= 2 &&
           t.chunks() >= 4 && t.chunks() <= 32 &&
           (t.token_scales == 0 || (t.eight_bits != 0 && t.keys <= 64)) &&  // a lane a chunk
           (t.together == 0 || valid_together(t)) &&
           t.residents * (t.shared_bytes() + shared_of_system) <= shared_of_sm;
}
static_assert([] {
    for (const Tile& tile : tiles) {
        if (!valid(tile)) {
            return false;
        }
    }
    return true;
}());

/// The narrowest compiled head dim that serves both, or 0.
constexpr std::int32_t width_for(std::int64_t headdim, std::int64_t headdim_v) {
    const std::int64_t wider = headdim > headdim_v ? headdim : headdim_v;
    return wider <= 64 ? 64 : wider <= 128 ? 128 : wider <= 256 ? 256 : 0;
}

}  // namespace raceline::kernels::decode_sm90
