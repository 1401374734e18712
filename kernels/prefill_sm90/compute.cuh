// SPDX-License-Identifier: Apache-2.0
// A matrix warpgroup: 64 rows against the blocks of keys, last to first, one item after the other.
// While the values of one block are multiplied, the scores of the next become probabilities, and
// the block after an item's last is the next item's first: nothing drains in between.
#pragma once

#include "kernels/prefill_sm90/consumer.cuh"

namespace raceline::kernels::prefill_sm90 {

/// Executed by a matrix warpgroup.
template <Tile tile, bool bf16, bool capped>
__device__ __forceinline__ void consume(const Params& p, const Shared<tile>& s, int warpgroup) {
    Consumer<tile, bf16, capped> consumer(p, s, warpgroup);
    consumer.turn.open();
    float score[tile.keys / 2];
    float out[tile.headdim_v / 2];
    std::uint32_t probability[tile.keys / 16][4];
    RowState state;
    const Accumulators<tile> a{score, out, probability, state};
    int before = no_slot;  // slot of the item whose last block's values are still to be multiplied
#pragma unroll 1
    while (true) {
        const Pass pass = consumer.next_item();
        if (before != no_slot && !consumer.goes_through(pass)) {
            consumer.end(a, before);
            before = no_slot;
        }
        if (!pass.is(item_is_there)) {
            break;
        }
        const bool alone = before == no_slot;
        if (alone) {
            consumer.skip(pass);
        }
        if (pass.left_out()) {
            consumer.leave_out(pass);
            continue;
        }
        int block = pass.own.last - 1;
        if (alone) {
            consumer.begin(a, pass);
            --block;
        }
#pragma unroll 1
        while (block >= pass.blocks.first) {
            const Blocks plain = pass.own.plain;
            if (before != no_slot || block < plain.first || block >= plain.last) {
                consumer.masked(a, pass, block, before);
                before = no_slot;
                --block;
            } else {
                // The item's first row sees as far back as any: no block of ours that needs no mask
                // lies before the item's first.
                block = consumer.run(a, pass.blocks.first, block, plain.first);
                if (block >= plain.first) {
                    consumer.again(a, block == pass.blocks.first);
                    --block;
                }
            }
        }
        before = pass.slot;
    }
    consumer.turn.close();
}

}  // namespace raceline::kernels::prefill_sm90
