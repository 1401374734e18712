// SPDX-License-Identifier: Apache-2.0
// The tuning space of prefill_sm90_fp8 and what follows from a tile, shared by host and device.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/prefill_sm90/tile.hpp"
#include "registry/kernel.hpp"
#include "workload/attention_args.hpp"
#include "workload/band.hpp"
#include "workload/workload.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

using namespace hopper;

/// Keys whose products with P may be left to the tensor core before their sum is added up in fp32,
/// in calls that are to be accurate: what that loses is in docs/engines/prefill_sm90_fp8.md.
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

    static constexpr bool eight_bits = true;
    /// Work tiles that are described at a time: one whose rows are still to be written, the one
    /// worked on, the one copied and the one that comes next.
    static constexpr int descriptor_slots = 4;
    /// Rows of 16 bytes of a descriptor before those of the warpgroups.
    static constexpr int descriptor_rows = 5;

    bool operator==(const Tile&) const = default;
    static constexpr std::array<TileField, 7> fields{"headdim", "rows",    "keys",    "stages",
                                                     "turns",   "promote", "prepared"};
    [[nodiscard]] constexpr int warpgroups() const { return rows / 64; }
    [[nodiscard]] constexpr int threads() const { return 128 * (warpgroups() + 1); }
    [[nodiscard]] constexpr int q_bytes() const { return rows * headdim; }
    [[nodiscard]] constexpr int q_stage_bytes() const { return 64 * headdim; }
    /// Outputs leave straight from registers.
    [[nodiscard]] constexpr int out_buffer_bytes() const { return 0; }
    /// Of K, of V and of V transposed.
    [[nodiscard]] constexpr int block_bytes() const { return keys * headdim; }
    [[nodiscard]] constexpr int k_bytes() const { return block_bytes(); }
    [[nodiscard]] constexpr int v_bytes() const { return block_bytes(); }
    /// V that is to be transposed here.
    [[nodiscard]] constexpr int raw_v_bytes() const { return prepared != 0 ? 0 : block_bytes(); }
    /// Whether it serves calls that do not ask for fast sums. At head dim 256 blocks of 64 keys
    /// were best nowhere and are predicted too fast at short lengths: they stay for what was
    /// measured.
    [[nodiscard]] constexpr bool accurate() const {
        return promote != 0 && keys <= promoted_keys && !(headdim == 256 && keys == 64);
    }
    /// Registers of a matrix warpgroup's thread after setmaxnreg.
    [[nodiscard]] constexpr int matrix_registers() const {
        return registers_of(warpgroups()).matrix;
    }
    /// Columns of P·V that are promoted at a time. All, where registers suffice for them twice.
    [[nodiscard]] constexpr int promoted_columns() const {
        return headdim == 256 || alternates() ? 64 : headdim;
    }
    /// Of tiles that alternate: columns that are multiplied while those are added; 0: none.
    [[nodiscard]] constexpr int narrow_columns() const {
        return !alternates() || headdim == 64 ? 0 : 32;
    }
    /// Chunks of columns that an alternating warpgroup multiplies and adds, one after the other.
    [[nodiscard]] constexpr int value_chunks() const {
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

/// Q of two work tiles, where it fits, lets the next work tile's come while this work tile's is in
/// use.
constexpr SharedLayout shared_layout(const Tile& tile) {
    const SharedLayout two = layout_of(tile, 2 * tile.warpgroups(), 0);
    return fits(two) ? two : layout_of(tile, tile.warpgroups(), 0);
}

/// The launch that transposes V before: threads of a CTA, and its shared memory, which is a block
/// as it comes, one as it goes, and a barrier.
inline constexpr int preparing_threads = 128;
inline constexpr int preparing_registers = 48;  ///< of a thread, at most
constexpr int preparing_shared_bytes(const Tile& tile) {
    return 2 * tile.block_bytes() + 16 + shared_slack;
}

constexpr bool valid(const Tile& t) {
    return (t.headdim == 64 || t.headdim == 128 || t.headdim == 256) && t.warpgroups() >= 2 &&
           t.warpgroups() <= 3 && t.keys % 32 == 0 && fits_cta(t);
}
static_assert(std::ranges::all_of(tiles, valid));

/// The narrowest tile that serves a call's head dims, or 0.
constexpr std::int32_t width_for(std::int64_t headdim, std::int64_t headdim_v) {
    std::int32_t best = 0;
    for (const Tile& t : tiles) {
        const bool serves = headdim <= t.headdim && headdim_v <= t.headdim;
        best = serves && (best == 0 || t.headdim < best) ? t.headdim : best;
    }
    return best;
}

// V transposed once for all rows: where the blocks stand in the workspace. An image is a block of
// one KV head as shared memory is to have it, swizzle included, so that one plain copy fetches it;
// keys behind the sequence's end are zeros in it. Images of the KV heads of one block lie side by
// side; `place` counts blocks through all sequences.

/// Bytes of the workspace before the images: the counter that work tiles are drawn from, and what
/// is left of a line of the L2.
inline constexpr std::size_t images_offset = 128;

/// A packed batch: the place of the first block of the sequence that begins at `token`. It follows
/// from what the device knows of that sequence alone, and leaves every sequence as many places as
/// it has blocks: one of n tokens comes at least floor(n / keys) + 1 before the next.
constexpr std::int32_t packed_place(std::int32_t token, std::int32_t sequence, std::int32_t keys) {
    return token / keys + sequence;
}
/// Sequences of one length.
constexpr std::int32_t equal_place(std::int32_t length, std::int32_t sequence, std::int32_t keys) {
    return sequence * ((length + keys - 1) / keys);
}

/// Places of all sequences, so many that every one has its blocks.
inline std::int64_t image_places(const AttentionArgs& a, std::int64_t keys) {
    return a.cu_seqlens_k != nullptr ? a.tokens_k / keys + a.batch
                                     : a.batch * divide_up(a.seqlen_k, keys);
}
inline std::int64_t image_places(const Workload& w, std::int64_t keys) {
    return !w.seqlens_k.empty() ? w.tokens_k() / keys + w.batch
                                : w.batch * divide_up(w.seqlen_k, keys);
}

}  // namespace raceline::kernels::prefill_sm90_fp8
