// SPDX-License-Identifier: Apache-2.0
// A matrix warpgroup: 64 rows against the blocks of keys, last to first, one item after the other.
// While the values of one block are multiplied, the scores of the next become probabilities, and
// the block after an item's last is the next item's first: nothing drains in between.
#pragma once

#include "kernels/prefill_sm90_fp8/consumer.cuh"

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
        bool fresh = before != none;
        if (!fresh) {
            consumer.skip(pass);
        }
        if (pass.left_out()) {
            consumer.leave_out(pass);
            continue;
        }
        int block = pass.own.last - 1;
        // A row may have seen few keys of a first block with a mask: what comes next may rise far.
        bool young = fresh;
        if (!fresh) {
            young = consumer.begin(a, pass);
            --block;
        }
#pragma unroll 1
        while (block >= pass.blocks.first) {
            const Blocks plain = pass.own.plain;
            if (young || block < plain.first || block >= plain.last) {
                young = consumer.masked(a, pass, block, fresh, before) && fresh;
                --block;
            } else {
                const int end = larger(pass.blocks.first, plain.first);
                consumer.run(a, pass.scale_log2, pass.blocks.first, block, end);
                block = end - 1;
            }
            fresh = false;
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
    if constexpr (tile.promote != 0) {
        float part[tile.promoted_columns() / 2];
        stream<tile>(consumer, {score, out, part, probability, state});
    } else {
        stream<tile>(consumer, {score, out, out, probability, state});
    }
    consumer.turn.close();
}

}  // namespace raceline::kernels::prefill_sm90_fp8
