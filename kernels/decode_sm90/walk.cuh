// SPDX-License-Identifier: Apache-2.0
// Which keys a CTA reads: its part of the line of all units' blocks, unit by unit.
#pragma once

#include "kernels/decode_sm90/task.cuh"

namespace raceline::kernels::decode_sm90 {

/// A CTA's way through its part: [block, end) of the unit at hand, then `left` blocks of the next
/// ones. The same in all lanes.
struct Walk {
    Sequence sequence;
    Blocks unit;
    std::int32_t index, head, row_tile;  ///< of the sequence in the batch; KV head
    std::int32_t block, end;
    std::int32_t left;

    /// From a place of the line on, for `count` blocks.
    __device__ __forceinline__ void begin(const Params& p, std::int32_t keys,
                                          const Lengths& lengths, Place from, std::int32_t count) {
        index = from.sequence;
        sequence = sequence_of(p, lengths, index);
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
