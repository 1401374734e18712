// SPDX-License-Identifier: Apache-2.0
// What the CTA's scheduler works out about a work tile and leaves in shared memory, so that those
// who copy and multiply only read it: between two work tiles of a short sequence, every clock
// counts.
#pragma once

#include <cstdint>

#include "gpu/ptx/ld_shared_v4_u32.cuh"
#include "gpu/ptx/redux_or_b32.cuh"
#include "gpu/ptx/st_shared_v4_u32.cuh"
#include "gpu/tile/schedule.hpp"
#include "gpu/tile/sequence.cuh"
#include "gpu/tile/work_tile.cuh"
#include "kernels/prefill_sm90/ring.cuh"

namespace raceline::kernels::hopper {

using Sequence = schedule::FollowedSequence;

/// A work tile with its sequence looked up; the same for all threads of the CTA.
struct Work {
    Sequence sequence;
    Blocks blocks;
    Rows rows;  ///< none if the sequence is shorter than others of the batch
    std::int32_t head, head_kv;
    std::int32_t scale;  ///< 8 bits: index of its KV head in the tensors' scales
    std::int32_t place;  ///< 8 bits: of its first block among V's images, if there are any
};

template <auto tile, class Params>
__device__ __forceinline__ Work work_of(const Params& p, schedule::WorkTile work_tile) {
    Work w{};
    const std::int32_t b = p.by_heads.divide(work_tile.head);
    w.sequence = schedule::sequence_of<Sequence>(p, b);
    w.head = work_tile.head - b * p.args.heads_q;
    w.head_kv = p.by_group.divide(w.head);
    if constexpr (tile.eight_bits) {
        w.scale = b * p.args.heads_kv + w.head_kv;
        if constexpr (tile.prepared != 0) {
            w.place = image_place<tile.keys>(p, b);
        }
    }
    w.rows = schedule::rows_of_tile(work_tile.row_tile, w.sequence.band.length_q, tile.rows);
    w.blocks = w.sequence.band.blocks(w.rows, tile.keys);
    return w;
}

using schedule::draw;
using schedule::lse_of;
using schedule::number;
using schedule::output_of;
using schedule::WarpgroupBlocks;
using schedule::word;

/// Rows of 16 bytes of a descriptor; 8 bits alone have scales. The part of matrix warpgroup w
/// stands in row tile.descriptor_rows + w.
enum DescriptorRow : int { blocks_row, mask_row, output_row, tokens_row, scales_row };

/// Flags of a described work tile. Without the first there is none, and there will be no other.
enum : std::uint32_t {
    tile_exists = 1,
    tile_clears_values = 2,  ///< its first block reaches past a sequence that others follow
    tile_is_reversed = 4,    ///< its last rows are the first warpgroup's
};

/// Which 64 of the work tile's rows are a warpgroup's. Under a causal mask the last rows have the
/// most keys, and a tile may not have them all: were they always the same warpgroup's, the others
/// would wait for it. So work tiles alternate, and warpgroups that may drift apart have equal
/// shares.
template <auto tile>
__device__ __forceinline__ int rows_of(int warpgroup, bool reversed) {
    return 64 * (reversed ? tile.warpgroups() - 1 - warpgroup : warpgroup);
}

/// Address of a row of the descriptor in a slot.
template <class Shared>
__device__ __forceinline__ std::uint32_t descriptor_row(const Shared& s, int slot, int row) {
    return s.descriptor(slot) + 16 * static_cast<std::uint32_t>(row);
}

/// Writes the descriptor of work tile `index`, executed by a whole warp. It is not published yet.
template <auto tile, class Params, class Shared>
__device__ __forceinline__ void write_descriptor(const Params& p, const Shared& s, int slot,
                                                 int index, bool reversed) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    if (index >= p.order.work_tiles()) {
        if (lane == 0) {
            ptx::st_shared_v4_u32(descriptor_row(s, slot, blocks_row), make_uint4(0, 0, 0, 0));
        }
        return;
    }
    const Work w = work_of<tile>(p, p.order.work_tile(index));
    const Band& band = w.sequence.band;
    if (lane == 0) {
        const bool clears =
            !tile.eight_bits && w.sequence.followed && band.length_k < w.blocks.last * tile.keys;
        const std::uint32_t flags = tile_exists | (clears ? tile_clears_values : 0U) |
                                    (!tile.eight_bits && reversed ? tile_is_reversed : 0U);
        ptx::st_shared_v4_u32(
            descriptor_row(s, slot, blocks_row),
            make_uint4(word(w.blocks.first), word(w.blocks.last), flags, word(w.head_kv)));
        ptx::st_shared_v4_u32(
            descriptor_row(s, slot, mask_row),
            make_uint4(word(w.rows.first), word(band.length_q), word(band.length_k), word(w.head)));
        const auto out = static_cast<std::uint64_t>(output_of(p, w));
        const auto lse = static_cast<std::uint64_t>(lse_of(p, w));
        ptx::st_shared_v4_u32(
            descriptor_row(s, slot, output_row),
            make_uint4(static_cast<std::uint32_t>(out), static_cast<std::uint32_t>(out >> 32),
                       static_cast<std::uint32_t>(lse), static_cast<std::uint32_t>(lse >> 32)));
        ptx::st_shared_v4_u32(
            descriptor_row(s, slot, tokens_row),
            make_uint4(word(w.sequence.q_token + w.rows.first), word(w.sequence.q_index),
                       word(w.sequence.k_token), word(w.sequence.k_index)));
        if constexpr (tile.eight_bits) {
            ptx::st_shared_v4_u32(
                descriptor_row(s, slot, scales_row),
                make_uint4(__float_as_uint(scale_log2_of(p, w)),
                           __float_as_uint(scale_at(p, p.args.v_scale, w)), word(w.place), 0));
        }
    }
    if (lane < tile.warpgroups()) {
        const int rows = rows_of<tile>(lane, !tile.eight_bits && reversed);
        const WarpgroupBlocks own = schedule::warpgroup_blocks<tile.keys>(w, rows);
        ptx::st_shared_v4_u32(descriptor_row(s, slot, tile.descriptor_rows + lane),
                              make_uint4(word(own.last), word(own.plain.first),
                                         word(own.plain.last), tile.eight_bits ? 0 : word(rows)));
    }
}

/// Draws, describes and publishes one work tile. Executed by a whole warp; false if there was none.
template <auto tile, class Params, class Shared>
struct Scheduler {
    const Params& p;
    Shared s;
    Ring<tile.descriptor_slots> ring;
    int round = 0;
    __device__ __forceinline__ bool next() {
        // Who reads a work tile's descriptor empties a slot two or more before it: the first ones
        // need no wait.
        const std::uint32_t parity =
            ring.parity() ^ (ring.stage() < tile.descriptor_slots - 2 ? 1U : 0U);
        ptx::mbarrier_wait_parity(s.descriptor_empty(ring.stage()), parity);
        const int drawn = decltype(ring)::counts ? static_cast<int>(ring.at) : round;
        const int index = draw(p, drawn);
        write_descriptor<tile>(p, s, ring.stage(), index, drawn % 2 != 0);
        ++round;
        if constexpr (tile.eight_bits) {
            __syncwarp();  // the copying lane reads what others wrote
        }
        if (threadIdx.x % 32 < tile.warpgroups()) {  // who has written
            ptx::mbarrier_arrive(s.descriptor_full(ring.stage()));
        }
        ring.advance();
        return index < p.order.work_tiles();
    }
};

}  // namespace raceline::kernels::hopper
