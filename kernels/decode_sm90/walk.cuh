// SPDX-License-Identifier: Apache-2.0
// Which keys a CTA reads: its part of the line of all units' blocks, unit by unit.
#pragma once

#include "gpu/tile/sequence.cuh"
#include "kernels/decode_sm90/params.hpp"

namespace raceline::kernels::decode_sm90 {

using schedule::Sequence;  // in pages K and V have neither first token nor place

__device__ __forceinline__ Sequence sequence_of(const Params& p, std::int32_t b) {
    Sequence s{p.band, 0, b, 0, b};
    if (p.uniform) {
        return s;
    }
    schedule::place_in_batch(s, p.args, b);
    return s;
}

/// Blocks of all units of a sequence.
__device__ __forceinline__ std::int32_t blocks_of_units(const Params& p, std::int32_t keys,
                                                        std::int32_t b) {
    return blocks_of(sequence_of(p, b).band, keys).count() * p.args.heads_kv * p.row_tiles;
}

/// Sum over the lanes before this one and itself.
__device__ __forceinline__ std::int32_t sum_so_far(std::int32_t x) {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const std::int32_t below = __shfl_up_sync(0xFFFFFFFFU, x, distance);
        x += lane >= distance ? below : 0;
    }
    return x;
}

/// Of sequences of different lengths: all blocks, worked out by each warp for itself; fewer than
/// 2^31. Not inlined, so that calls of one length do not fetch its code.
__device__ __noinline__ inline std::int32_t ragged_blocks(const Params& p, std::int32_t keys) {
    std::int32_t sum = 0;
    const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
    for (std::int32_t b = lane; b < p.args.batch; b += 32) {
        sum += blocks_of_units(p, keys, b);
    }
    return __shfl_sync(0xFFFFFFFFU, sum_so_far(sum), 31);
}

/// How the line is cut. Of sequences of one length the host knows it.
__device__ __forceinline__ Cuts cuts_of(const Params& p, std::int32_t keys, std::int32_t least) {
    return p.uniform ? p.cuts : Cuts(ragged_blocks(p, keys), p.ctas, least);
}

/// Where a block of the line stands: its sequence, which of the sequence's units, and which of the
/// unit's blocks.
struct Place {
    std::int32_t sequence, unit, block;
};
__device__ __noinline__ inline Place ragged_place_of(const Params& p, std::int32_t keys,
                                                     std::int32_t block) {
    std::int32_t before = 0;
    for (std::int32_t first = 0;; first += 32) {
        const std::int32_t b = first + static_cast<std::int32_t>(threadIdx.x % 32);
        const std::int32_t own = b < p.args.batch ? blocks_of_units(p, keys, b) : 0;
        const std::int32_t end = before + sum_so_far(own);
        const unsigned behind = __ballot_sync(0xFFFFFFFFU, block < end);
        if (behind != 0) {
            const int lane = __ffs(static_cast<int>(behind)) - 1;
            const std::int32_t offset = block - __shfl_sync(0xFFFFFFFFU, end - own, lane);
            const std::int32_t each =
                __shfl_sync(0xFFFFFFFFU, own, lane) / (p.args.heads_kv * p.row_tiles);
            return {first + lane, offset / each, offset % each};
        }
        before = __shfl_sync(0xFFFFFFFFU, end, 31);
    }
}
__device__ __forceinline__ Place place_of(const Params& p, std::int32_t keys, std::int32_t block) {
    if (!p.uniform) {
        return ragged_place_of(p, keys, block);
    }
    const std::int32_t unit = p.by_blocks.divide(block);
    const std::int32_t sequence = p.by_units.divide(unit);
    return {sequence, unit - sequence * p.args.heads_kv * p.row_tiles,
            block - unit * p.blocks_of_unit};
}

/// A CTA's way through its part: [block, end) of the unit at hand, then `left` blocks of the next
/// ones. The same in all lanes.
struct Walk {
    Sequence sequence;
    Blocks unit;
    std::int32_t index, head, row_tile;  ///< of the sequence in the batch; KV head
    std::int32_t block, end;
    std::int32_t left;

    /// From a place of the line on, for `count` blocks.
    __device__ __forceinline__ void begin(const Params& p, std::int32_t keys, Place from,
                                          std::int32_t count) {
        index = from.sequence;
        sequence = sequence_of(p, index);
        unit = blocks_of(sequence.band, keys);
        head = p.by_row_tiles.divide(from.unit);
        row_tile = from.unit - head * p.row_tiles;
        block = unit.first + from.block;
        left = count;
        take();
    }
    /// To the next unit; false if the part ends here.
    __device__ __forceinline__ bool next(const Params& p, std::int32_t keys) {
        if (left == 0) {
            return false;
        }
        if (++row_tile == p.row_tiles) {
            row_tile = 0;
            if (++head == p.args.heads_kv) {
                head = 0;
                do {
                    sequence = sequence_of(p, ++index);
                    unit = blocks_of(sequence.band, keys);
                } while (unit.count() == 0);
            }
        }
        block = unit.first;
        take();
        return true;
    }
    [[nodiscard]] __device__ __forceinline__ bool whole() const {
        return block == unit.first && end == unit.last;
    }

private:
    __device__ __forceinline__ void take() {
        end = smaller(unit.last, block + left);
        left -= end - block;
    }
};

}  // namespace raceline::kernels::decode_sm90
