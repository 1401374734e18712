// SPDX-License-Identifier: Apache-2.0
// The tuning space of prefill_sm90_fp8 and what follows from a tile, shared by host and device.
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

/// Keys whose products with P may be left to the tensor core before their sum is added up in fp32,
/// in calls that are to be accurate: what that loses is in docs/prefill_sm90_fp8.md.
inline constexpr std::int32_t promoted_keys = 128;

/// A CTA has a producer warpgroup, of which one warp copies and the others transpose V where that
/// has not been done before, and rows / 64 matrix warpgroups.
struct Tile {
    std::int32_t headdim;  ///< of Q, K and V in shared memory: the call's larger one, rounded up
    std::int32_t rows;     ///< query rows a CTA works on at a time, 64 a matrix warpgroup
    std::int32_t keys;     ///< keys of one block
    std::int32_t stages;   ///< blocks of K, of V and of V transposed that shared memory holds
    std::int32_t turns;    ///< 1: the warpgroups take turns at issuing products; 0: they do not
    std::int32_t promote;  ///< 1: every block's P·V is added up in fp32; 0: by the tensor core
    /// 1: a launch before this one has transposed V, once for all rows; 0: on its way, every time.
    std::int32_t prepared;

    bool operator==(const Tile&) const = default;
    static constexpr auto fields() {
        return std::array<TileField<Tile>, 7>{{{"headdim", &Tile::headdim},
                                               {"rows", &Tile::rows},
                                               {"keys", &Tile::keys},
                                               {"stages", &Tile::stages},
                                               {"turns", &Tile::turns},
                                               {"promote", &Tile::promote},
                                               {"prepared", &Tile::prepared}}};
    }
    [[nodiscard]] constexpr int warpgroups() const { return rows / 64; }
    [[nodiscard]] constexpr int threads() const { return 128 * (warpgroups() + 1); }
    [[nodiscard]] constexpr int q_bytes() const { return rows * headdim; }
    /// Of K, of V and of V transposed.
    [[nodiscard]] constexpr int block_bytes() const { return keys * headdim; }
    /// Rings of blocks in shared memory: K, V transposed and, to be transposed here, V.
    [[nodiscard]] constexpr int rings() const { return prepared != 0 ? 2 : 3; }
    /// Whether it serves calls that do not ask for fast sums. At head dim 256 blocks of 64 keys
    /// were best nowhere and are predicted too fast at short lengths: they stay for what was
    /// measured.
    [[nodiscard]] constexpr bool accurate() const {
        return promote != 0 && keys <= promoted_keys && !(headdim == 256 && keys == 64);
    }
    /// Registers of a matrix warpgroup's thread after setmaxnreg.
    [[nodiscard]] constexpr int matrix_registers() const { return warpgroups() == 3 ? 160 : 232; }
    /// Columns of P·V that are promoted at a time. All, where registers suffice for them twice.
    [[nodiscard]] constexpr int promoted_columns() const {
        return headdim == 256 || alternates() ? 64 : headdim;
    }
    /// Of tiles that alternate: columns that are multiplied while those are added; 0: none.
    [[nodiscard]] constexpr int narrow_columns() const {
        return !alternates() || headdim == 64 ? 0 : 32;
    }
    /// Pieces of columns that an alternating warpgroup multiplies and adds, one after the other.
    [[nodiscard]] constexpr int value_pieces() const {
        return narrow_columns() == 0 ? 1 : headdim / 128 * 2 + 1;
    }
    /// A block's scores come behind the values of the block before, not beside them: where sums
    /// that are to be promoted leave no room for scores, outputs and both blocks' probabilities.
    [[nodiscard]] constexpr bool alternates() const {
        constexpr int others = 24;  // addresses, states of rows, counters
        const int part = headdim == 256 ? 64 : headdim;
        return promote != 0 &&
               headdim / 2 + part / 2 + keys / 2 + keys / 8 + others > matrix_registers();
    }
    /// Bytes of a row of swizzled shared memory, and the swizzle's width: of Q, K and V …
    [[nodiscard]] constexpr int row_bytes() const { return headdim >= 128 ? 128 : headdim; }
    /// … and of V transposed, whose rows are keys.
    [[nodiscard]] constexpr int key_row_bytes() const {
        return keys % 128 == 0 ? 128 : keys % 64 == 0 ? 64 : 32;
    }
};

/// The first ones are accurate, the others serve accuracy=fast alone.
inline constexpr std::array<Tile, 36> tiles{{
    {64, 192, 128, 4, 0, 1, 1},  {64, 192, 128, 4, 1, 1, 1},  {64, 192, 128, 4, 0, 1, 0},
    {64, 192, 96, 4, 0, 1, 1},   {64, 192, 128, 4, 1, 1, 0},  {64, 128, 192, 2, 1, 1, 0},
    {128, 192, 128, 4, 0, 1, 1}, {128, 192, 128, 4, 1, 1, 1}, {128, 192, 96, 3, 0, 1, 0},
    {128, 128, 128, 3, 0, 1, 0}, {128, 128, 96, 2, 1, 1, 0},  {256, 128, 128, 2, 0, 1, 1},
    {256, 128, 128, 2, 1, 1, 1}, {256, 128, 96, 2, 0, 1, 0},  {64, 192, 128, 4, 0, 0, 0},
    {64, 192, 128, 4, 1, 0, 0},  {64, 192, 128, 2, 1, 0, 0},  {64, 128, 128, 4, 0, 0, 0},
    {64, 128, 256, 2, 1, 0, 0},  {128, 192, 96, 3, 0, 0, 0},  {128, 192, 96, 3, 1, 0, 0},
    {128, 192, 64, 4, 1, 0, 0},  {128, 128, 128, 3, 0, 0, 0}, {128, 128, 160, 2, 1, 0, 0},
    {128, 128, 192, 2, 0, 0, 0}, {256, 128, 96, 2, 0, 0, 0},  {256, 128, 96, 2, 1, 0, 0},
    {256, 128, 64, 3, 1, 0, 0},  {256, 128, 64, 3, 0, 0, 0},  {256, 128, 64, 4, 0, 0, 0},
    {64, 192, 128, 4, 0, 0, 1},  {128, 192, 96, 4, 0, 0, 1},  {128, 192, 96, 4, 1, 0, 1},
    {256, 128, 96, 3, 0, 0, 1},  {256, 128, 96, 3, 1, 0, 1},  {256, 128, 64, 2, 1, 1, 0},
}};

/// Warps of the producer that transpose V; one copies.
inline constexpr int transposers = 3;

/// Registers of a thread after setmaxnreg. The sums are what the launch bound gave the CTA: 168
/// times 384 threads, 128 times 512.
struct RegisterSplit {
    int entry, producer, matrix;
};
constexpr RegisterSplit register_split(const Tile& tile) {
    return tile.warpgroups() == 3 ? RegisterSplit{128, 32, 160} : RegisterSplit{168, 40, 232};
}

/// Items that are announced at a time: one whose rows are still to be written, the one worked on,
/// the one copied and the one that comes next.
inline constexpr int announced_items = 4;
/// Bytes of an announcement, a multiple of 16 (announcement.cuh).
constexpr int announcement_bytes(int warpgroups) {
    return 16 * (5 + warpgroups);
}

/// Bytes from the start of a CTA's shared memory, which is a multiple of 1024: the slots of Q, the
/// stages of K, of V (of none, if it comes transposed), of V transposed, the barriers, the
/// announced items.
struct SharedLayout {
    int q_slots, k, v, t, barriers, announced, bytes;
};
constexpr SharedLayout shared_layout(const Tile& tile, int q_slots) {
    const int k = q_slots * tile.q_bytes();
    const int v = k + tile.stages * tile.block_bytes();
    const int t = v + (tile.rings() - 2) * tile.stages * tile.block_bytes();
    const int barriers = t + tile.stages * tile.block_bytes();
    const int count =
        2 * q_slots * tile.warpgroups() + 2 * tile.rings() * tile.stages + 2 * announced_items;
    const int announced = barriers + (8 * count + 15) / 16 * 16;
    const int bytes = announced + announced_items * announcement_bytes(tile.warpgroups());
    return {q_slots, k, v, t, barriers, announced, bytes};
}
/// Dynamic shared memory may start at any multiple of 16 and is rounded up to the swizzle's 1024.
inline constexpr int shared_slack = 1024 - 16;
inline constexpr int most_shared = 232448;  // of a CTA on Hopper (CUDA C++ Programming Guide)
/// Two slots of Q, where they fit, let the next item's Q come while this item's is in use.
constexpr SharedLayout shared_layout(const Tile& tile) {
    const SharedLayout two = shared_layout(tile, 2);
    return two.bytes + shared_slack <= most_shared ? two : shared_layout(tile, 1);
}
/// What a launch asks for.
constexpr int shared_bytes(const Tile& tile) {
    return shared_layout(tile).bytes + shared_slack;
}

/// The launch that transposes V before: threads of a CTA, and its shared memory, which is a block
/// as it comes, one as it goes, and a barrier.
inline constexpr int preparing_threads = 128;
inline constexpr int preparing_registers = 48;  ///< of a thread, at most
constexpr int preparing_shared_bytes(const Tile& tile) {
    return 2 * tile.block_bytes() + 16 + shared_slack;
}

constexpr bool valid(const Tile& t) {
    const RegisterSplit r = register_split(t);
    return (t.headdim == 64 || t.headdim == 128 || t.headdim == 256) && t.rows % 64 == 0 &&
           t.warpgroups() >= 2 && t.warpgroups() <= 3 && t.keys % 32 == 0 && t.keys <= 256 &&
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

/// The narrowest tile that serves a call's head dims, or 0.
constexpr std::int32_t width_for(std::int64_t headdim, std::int64_t headdim_v) {
    std::int32_t best = 0;
    for (const Tile& t : tiles) {
        const bool serves = headdim <= t.headdim && headdim_v <= t.headdim;
        best = serves && (best == 0 || t.headdim < best) ? t.headdim : best;
    }
    return best;
}

}  // namespace raceline::kernels::prefill_sm90_fp8
