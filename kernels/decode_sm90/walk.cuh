// SPDX-License-Identifier: Apache-2.0
// Which keys a CTA reads: its part of the line of all units' blocks, unit by unit.
#pragma once

#include "kernels/decode_sm90/task.cuh"

namespace raceline::kernels::decode_sm90 {

/// A CTA's way through its part: [block, end) of the unit at hand, then `left` of the line, the
/// next units' pads counted. The same in all lanes.
struct Walk {
    Sequence sequence;
    Blocks unit;
    std::int32_t index, head,
        row_tile;  ///< of the sequence in the batch; of the unit's first KV head
    std::int32_t block, end;
    std::int32_t left;

    /// From a place of the line on, for `count` of it.
    __device__ __forceinline__ void begin(const Params& p, CutRule rule, const Lengths& lengths,
                                          Place from, std::int32_t count) {
        index = from.sequence;
        sequence = sequence_of(p, lengths, index);
        unit = blocks_of(sequence.band, rule.keys);
        const std::int32_t tiles = row_tiles(p);
        const std::int32_t bundle =
            p.uniform ? p.by_row_tiles.divide(from.unit) : from.unit / larger(1, tiles);
        row_tile = from.unit - bundle * tiles;
        head = bundle * rule.heads;
        block = unit.first + larger(0, from.block);
        left = larger(0, count + smaller(0, from.block));
        take();
    }
    /// To the next unit; false if the part ends here, or before that unit's first block.
    __device__ __forceinline__ bool next(const Params& p, CutRule rule) {
        if (left <= rule.pad) {
            return false;
        }
        left -= rule.pad;
        if (++row_tile == row_tiles(p)) {
            row_tile = 0;
            head += rule.heads;
            if (head == p.args.heads_kv) {
                head = 0;
                do {
                    sequence = sequence_of(p, ++index);
                    unit = blocks_of(sequence.band, rule.keys);
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
    /// Whether the part lies in a pad.
    [[nodiscard]] __device__ __forceinline__ bool empty() const { return block == end; }

    /// The KV head that this warp reads.
    template <Tile tile>
    [[nodiscard]] __device__ __forceinline__ std::int32_t own_head() const {
        return head + (tile.heads() > 1 ? static_cast<std::int32_t>(threadIdx.x / 32) : 0);
    }

private:
    [[nodiscard]] __device__ __forceinline__ std::int32_t row_tiles(const Params& p) const {
        return row_tiles_of(sequence.band.length_q, p.group);
    }
    __device__ __forceinline__ void take() {
        end = smaller(unit.last, block + left);
        left -= end - block;
    }
};

}  // namespace raceline::kernels::decode_sm90
