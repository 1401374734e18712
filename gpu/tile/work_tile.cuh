// SPDX-License-Identifier: Apache-2.0
// What a persistent forward kernel works out about a work tile on the device, and what its
// warpgroups keep of one. `Params` has args (AttentionArgs), order and handed_out; `Work` has
// sequence (q_token, q_index, band), rows, blocks and head.
#pragma once

#include <cstdint>

#include "gpu/tile/schedule.hpp"

namespace raceline::schedule {

/// Numbers as they stand in shared memory, in words.
__device__ __forceinline__ std::uint32_t word(std::int32_t x) {
    return static_cast<std::uint32_t>(x);
}
__device__ __forceinline__ std::int32_t number(std::uint32_t x) {
    return static_cast<std::int32_t>(x);
}
__device__ __forceinline__ std::int64_t number(std::uint32_t low, std::uint32_t high) {
    return static_cast<std::int64_t>(low | std::uint64_t{high} << 32);
}

/// A warpgroup's share of a work tile.
struct WarpgroupBlocks {
    int last;      ///< its blocks are those before this one: under a causal mask the upper rows see
                   ///< less of the last blocks, and some rows may not exist
    Blocks plain;  ///< those that need no mask; nowhere if the warpgroup has no rows
};
/// `rows`: from the work tile's first row to the warpgroup's.
template <int keys, class Work>
__device__ __forceinline__ WarpgroupBlocks warpgroup_blocks(const Work& w, int rows) {
    const Band& band = w.sequence.band;
    const int first_row = w.rows.first + rows;
    if (first_row >= w.rows.end) {
        return {w.blocks.first, {nowhere, nowhere}};
    }
    return {larger(w.blocks.first, band.blocks(first_row, 64, keys).last),
            band.plain(first_row, 64, keys)};
}

/// What a warpgroup keeps of a work tile from block to block; the rest is read again where it is
/// needed. The same in all lanes.
struct TileView {
    int slot;             ///< of the work tile's descriptor
    Blocks blocks;        ///< of the work tile
    WarpgroupBlocks own;  ///< ours
    std::uint32_t flags;
    [[nodiscard]] __device__ __forceinline__ bool is(std::uint32_t flag) const {
        return (flags & flag) != 0;
    }
    [[nodiscard]] __device__ __forceinline__ bool has_rows() const {
        return own.plain.first != nowhere;
    }
    /// None of the work tile's blocks is ours.
    [[nodiscard]] __device__ __forceinline__ bool left_out() const {
        return own.last <= blocks.first;
    }
    /// The work tile's blocks before ours.
    [[nodiscard]] __device__ __forceinline__ int skips() const { return blocks.last - own.last; }
};

/// Elements from the start of the output, and of the LSE, to the work tile's first row.
template <class Params, class Work>
__device__ __forceinline__ std::int64_t output_of(const Params& p, const Work& w) {
    const auto& out = p.args.out;
    return w.sequence.q_index * out.batch_stride +
           std::int64_t{w.sequence.q_token + w.rows.first} * out.seq_stride +
           w.head * out.head_stride;
}
template <class Params, class Work>
__device__ __forceinline__ std::int64_t lse_of(const Params& p, const Work& w) {
    const auto& a = p.args;
    return w.sequence.q_index * a.lse_batch_stride +
           std::int64_t{w.sequence.q_token + w.rows.first} * a.lse_seq_stride +
           w.head * a.lse_head_stride;
}

/// The index of the next work tile of this CTA; one past the last, or more, if there is none.
/// Executed by a whole warp. A CTA's first work tile needs no counter.
template <class Params>
__device__ __forceinline__ int draw(const Params& p, int round) {
    const int cta = static_cast<int>(blockIdx.x);
    const int ctas = static_cast<int>(gridDim.x);
    if (p.handed_out == nullptr || round == 0) {
        return index_of(cta, ctas, round, p.order.work_tiles());
    }
    unsigned drawn = 0;
    if (threadIdx.x % 32 == 0) {
        drawn = atomicAdd(p.handed_out, 1U);
    }
    return smaller(p.order.work_tiles(),
                   ctas + static_cast<int>(__shfl_sync(0xFFFFFFFFU, drawn, 0)));
}

}  // namespace raceline::schedule
