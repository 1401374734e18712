// SPDX-License-Identifier: Apache-2.0
// What the CTA's scheduler works out about an item and leaves in shared memory, so that those who
// copy and multiply only read it: between two items of a short sequence, every clock counts.
#pragma once

#include <cstdint>

#include "gpu/ptx/ld_shared_v4_u32.cuh"
#include "gpu/ptx/st_shared_v4_u32.cuh"
#include "gpu/tile/item.cuh"
#include "kernels/prefill_sm90_fp8/pipeline.cuh"
#include "kernels/prefill_sm90_fp8/sequence.cuh"

namespace raceline::kernels::prefill_sm90_fp8 {

using gpu::draw;
using gpu::lse_of;
using gpu::number;
using gpu::output_of;
using gpu::WarpgroupBlocks;
using gpu::word;

/// Rows of 16 bytes of an announcement; the part of matrix warpgroup w follows in row
/// warpgroups_row + w.
enum AnnouncementRow : int {
    blocks_row,
    mask_row,
    output_row,
    tokens_row,
    scales_row,
    warpgroups_row
};
static_assert(announcement_bytes(0) == 16 * warpgroups_row);

/// Flag of an announced item. Without it there is none, and there will be no other.
inline constexpr std::uint32_t item_is_there = 1;

/// Address of a row of the announcement in a slot.
template <Tile tile>
__device__ __forceinline__ std::uint32_t announced_row(const Shared<tile>& s, int slot, int row) {
    return s.announced(slot) + 16 * static_cast<std::uint32_t>(row);
}

/// Writes the announcement of item `index`, executed by a whole warp. It is not published yet.
template <Tile tile>
__device__ __forceinline__ void announce(const Params& p, const Shared<tile>& s, int slot,
                                         int index) {
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
        ptx::st_shared_v4_u32(
            announced_row(s, slot, blocks_row),
            make_uint4(word(w.blocks.first), word(w.blocks.last), item_is_there, word(w.head_kv)));
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
        ptx::st_shared_v4_u32(
            announced_row(s, slot, scales_row),
            make_uint4(__float_as_uint(scale_log2_of(p, w)),
                       __float_as_uint(scale_at(p.args.v_scale, w.scale)), word(w.place), 0));
    }
    if (lane < tile.warpgroups()) {
        const WarpgroupBlocks own = gpu::warpgroup_blocks<tile.keys>(w, 64 * lane);
        ptx::st_shared_v4_u32(
            announced_row(s, slot, warpgroups_row + lane),
            make_uint4(word(own.last), word(own.plain.first), word(own.plain.last), 0));
    }
}

/// What a warpgroup keeps of an item from block to block.
struct Pass : gpu::Pass {
    float scale_log2;  ///< what a raw product of Q and K is multiplied by
};

/// The slot that is empty once the item before `next` has been taken up: what was announced two
/// items before that one is done with, down to the stores.
__device__ __forceinline__ int slot_done_with(Ring<announced_items> next) {
    next.advance();
    return next.stage();
}

/// Draws, announces and publishes one item. Executed by a whole warp; false if there was none.
template <Tile tile>
struct Scheduler {
    const Params& p;
    Shared<tile> s;
    Ring<announced_items> ring;
    static_assert(decltype(ring)::counts, "which is how many have been drawn");
    __device__ __forceinline__ bool next() {
        // The first two need not wait for anyone.
        const std::uint32_t parity = ring.parity() ^ (ring.stage() < 2 ? 1U : 0U);
        ptx::mbarrier_wait_parity(s.item_empty(ring.stage()), parity);
        const int index = draw(p, static_cast<int>(ring.at));
        announce<tile>(p, s, ring.stage(), index);
        __syncwarp();                                // the copying lane reads what others wrote
        if (threadIdx.x % 32 < tile.warpgroups()) {  // who has written
            ptx::mbarrier_arrive(s.item_full(ring.stage()));
        }
        ring.advance();
        return index < p.order.items();
    }
};

}  // namespace raceline::kernels::prefill_sm90_fp8
