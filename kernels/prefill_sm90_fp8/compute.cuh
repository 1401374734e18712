// SPDX-License-Identifier: Apache-2.0
// A matrix warpgroup: 64 rows against the blocks of keys, last to first, one item after the other.
// While the values of one block are multiplied, the scores of the next become probabilities, and
// the block after an item's last is the next item's first: nothing drains in between.
#pragma once

#include "kernels/prefill_sm90_fp8/alternate.cuh"

namespace raceline::kernels::prefill_sm90_fp8 {

/// The stream of items and blocks, to the end.
template <Tile tile>
__device__ __forceinline__ void stream(Consumer<tile>& consumer, const Accumulators<tile>& a) {
    constexpr int none = -1;
    int before = none;  // slot of the item whose last block's values are still to be multiplied
#pragma unroll 1
    while (true) {
        const Pass pass = consumer.next_item();
        if (before != none && !consumer.goes_through(pass)) {
            consumer.end(a, before);
            before = none;
        }
        if (!pass.is(item_is_there)) {
            break;
        }
        const bool alone = before == none;
        if (alone) {
            consumer.skip(pass);
        }
        if (pass.left_out()) {
            consumer.leave_out(pass);
            continue;
        }
        int block = pass.own.last - 1;
        // A row may have seen few keys of a first block with a mask: what comes next may rise far.
        int young = 1;  // a word: the compiler packs what is bool into bytes, and those into memory
        if (alone) {
            young = consumer.begin(a, pass) ? 1 : 0;
            --block;
        }
#pragma unroll 1
        while (block >= pass.blocks.first) {
            const Blocks plain = pass.own.plain;
            if (young != 0 || block < plain.first || block >= plain.last) {
                const bool fresh = before != none;
                young = consumer.masked(a, pass, block, fresh, before) && fresh ? 1 : 0;
                before = none;
                --block;
            } else {
                // The item's first row sees as far back as any: no block of ours that needs no mask
                // lies before the item's first.
                consumer.run(a, pass.scale_log2, pass.blocks.first, block, plain.first);
                block = plain.first - 1;
            }
        }
        before = pass.slot;
    }
}

/// Executed by a matrix warpgroup.
template <Tile tile>
__device__ __forceinline__ void consume(const Params& p, const Shared<tile>& s, int warpgroup) {
    Consumer<tile> consumer(p, s, warpgroup);
    consumer.turn.open();
    float score[tile.keys / 2];
    float out[tile.headdim / 2];
    std::uint32_t probability[tile.keys / 32][4];
    RowState state;
    if constexpr (tile.alternates()) {
        float part[tile.promoted_columns() / 2];
        float narrow[tile.narrow_columns() > 0 ? tile.narrow_columns() / 2 : 1];
        alternate<tile>(consumer, {score, out, part, probability, state}, narrow);
    } else if constexpr (tile.promote != 0) {
        float part[tile.promoted_columns() / 2];
        stream<tile>(consumer, {score, out, part, probability, state});
    } else {
        stream<tile>(consumer, {score, out, out, probability, state});
    }
    consumer.turn.close();
}

}  // namespace raceline::kernels::prefill_sm90_fp8
