// SPDX-License-Identifier: Apache-2.0
// What the CTA's scheduler works out about an item and leaves in shared memory, so that those who
// copy and multiply only read it: between two items of a short sequence, every clock counts.
#pragma once

#include <cstdint>

#include "gpu/ptx/ld_shared_v4_u32.cuh"
#include "gpu/ptx/redux_or_b32.cuh"
#include "gpu/ptx/st_shared_v4_u32.cuh"
#include "gpu/tile/item.cuh"
#include "kernels/prefill_sm90/pipeline.cuh"
#include "kernels/prefill_sm90/sequence.cuh"

namespace raceline::kernels::prefill_sm90 {

using gpu::draw;
using gpu::lse_of;
using gpu::number;
using gpu::output_of;
using gpu::Pass;
using gpu::WarpgroupBlocks;
using gpu::word;

/// Rows of 16 bytes of an announcement; the part of matrix warpgroup w follows in row
/// warpgroups_row + w.
enum AnnouncementRow : int { blocks_row, mask_row, output_row, tokens_row, warpgroups_row };
static_assert(announcement_bytes(0) == 16 * warpgroups_row);

/// Flags of an announced item. Without the first there is none, and there will be no other.
enum : std::uint32_t {
    item_is_there = 1,
    item_clears_values = 2,  ///< its first block reaches past a sequence that others follow
    item_is_reversed = 4,    ///< its last rows are the first warpgroup's
};

/// Which 64 of the item's rows are a warpgroup's. Under a causal mask the last rows have the most
/// keys, and a tile may not have them all: were they always the same warpgroup's, the others would
/// wait for it. So items alternate, and warpgroups that may drift apart have equal shares.
template <Tile tile>
__device__ __forceinline__ int rows_of(int warpgroup, bool reversed) {
    return 64 * (reversed ? tile.warpgroups() - 1 - warpgroup : warpgroup);
}

/// Address of a row of the announcement in a slot.
template <Tile tile>
__device__ __forceinline__ std::uint32_t announced_row(const Shared<tile>& s, int slot, int row) {
    return s.announced(slot) + 16 * static_cast<std::uint32_t>(row);
}

/// Writes the announcement of item `index`, executed by a whole warp. It is not published yet.
template <Tile tile>
__device__ __forceinline__ void announce(const Params& p, const Shared<tile>& s, int slot,
                                         int index, bool reversed) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    if (index >= p.order.items()) {
        if (lane == 0) {
            ptx::st_shared_v4_u32(announced_row(s, slot, blocks_row), make_uint4(0, 0, 0, 0));
        }
        return;
    }
    const Work w = work_of<tile>(p, p.order.item(index));
    const Band& band = w.sequence.band;
    if (lane == 0) {
        const bool clears = w.sequence.followed && band.length_k < w.blocks.last * tile.keys;
        const std::uint32_t flags =
            item_is_there | (clears ? item_clears_values : 0U) | (reversed ? item_is_reversed : 0U);
        ptx::st_shared_v4_u32(
            announced_row(s, slot, blocks_row),
            make_uint4(word(w.blocks.first), word(w.blocks.last), flags, word(w.head_kv)));
        ptx::st_shared_v4_u32(
            announced_row(s, slot, mask_row),
            make_uint4(word(w.rows.first), word(band.length_q), word(band.length_k), word(w.head)));
        const auto out = static_cast<std::uint64_t>(output_of(p, w));
        const auto lse = static_cast<std::uint64_t>(lse_of(p, w));
        ptx::st_shared_v4_u32(
            announced_row(s, slot, output_row),
            make_uint4(static_cast<std::uint32_t>(out), static_cast<std::uint32_t>(out >> 32),
                       static_cast<std::uint32_t>(lse), static_cast<std::uint32_t>(lse >> 32)));
        ptx::st_shared_v4_u32(
            announced_row(s, slot, tokens_row),
            make_uint4(word(w.sequence.q_token + w.rows.first), word(w.sequence.q_index),
                       word(w.sequence.k_token), word(w.sequence.k_index)));
    }
    if (lane < tile.warpgroups()) {
        const int rows = rows_of<tile>(lane, reversed);
        const WarpgroupBlocks own = gpu::warpgroup_blocks<tile.keys>(w, rows);
        ptx::st_shared_v4_u32(
            announced_row(s, slot, warpgroups_row + lane),
            make_uint4(word(own.last), word(own.plain.first), word(own.plain.last), word(rows)));
    }
}

/// Where there is no item's slot.
inline constexpr int no_slot = -1;

/// Draws, announces and publishes one item. Executed by a whole warp; false if there was none.
template <Tile tile>
struct Scheduler {
    const Params& p;
    Shared<tile> s;
    Ring<announced_items> ring;
    int round = 0;
    __device__ __forceinline__ bool next() {
        // Who reads an item's announcement empties the slot after it. The first one needs no wait.
        const std::uint32_t parity = ring.parity() ^ (ring.stage() == 0 ? 1U : 0U);
        ptx::mbarrier_wait_parity(s.item_empty(ring.stage()), parity);
        const int index = draw(p, round);
        announce<tile>(p, s, ring.stage(), index, round % 2 != 0);
        ++round;
        if (threadIdx.x % 32 < tile.warpgroups()) {  // who has written
            ptx::mbarrier_arrive(s.item_full(ring.stage()));
        }
        ring.advance();
        return index < p.order.items();
    }
};

}  // namespace raceline::kernels::prefill_sm90
