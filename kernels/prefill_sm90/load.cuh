// SPDX-License-Identifier: Apache-2.0
// The producer: one thread walks through the CTA's items and starts the copies of Q once an item
// and of K and V once a block, as soon as their place is empty.
#pragma once

#include "gpu/ptx/cp_async_bulk_tensor.cuh"
#include "kernels/prefill_sm90/params.cuh"
#include "kernels/prefill_sm90/pipeline.cuh"

namespace raceline::kernels::prefill_sm90 {

/// `rows` tokens from `token` on as slabs of 64 columns, one behind the other. Columns and tokens
/// that the tensor does not have become zeros.
template <int columns, int rows>
__device__ __forceinline__ void load_slabs(std::uint32_t to, const CUtensorMap& map, int token,
                                           int head, int sequence, std::uint32_t barrier) {
    ptx::mbarrier_arrive_expect_tx(barrier, columns * rows * 2);
#pragma unroll
    for (int slab = 0; slab < columns / slab_columns; ++slab) {
        ptx::cp_async_bulk_tensor_4d_shared_global(to + slab * rows * slab_row_bytes, &map,
                                                   slab * slab_columns, token, head, sequence,
                                                   barrier);
    }
}

template <Tile tile>
struct Producer {
    const Params& p;
    Shared<tile> s;
    Ring<tile.stages> k_ring, v_ring;
    std::uint32_t q_parity = 0;

    __device__ __forceinline__ void load_k(int block, int head, int sequence) {
        ptx::mbarrier_wait_parity(s.k_empty(k_ring.stage), k_ring.parity ^ 1);
        load_slabs<tile.headdim, tile.keys>(s.k(k_ring.stage), p.k, block * tile.keys, head,
                                            sequence, s.k_full(k_ring.stage));
        k_ring.advance();
    }
    __device__ __forceinline__ void load_v(int block, int head, int sequence) {
        ptx::mbarrier_wait_parity(s.v_empty(v_ring.stage), v_ring.parity ^ 1);
        load_slabs<tile.headdim_v, tile.keys>(s.v(v_ring.stage), p.v, block * tile.keys, head,
                                              sequence, s.v_full(v_ring.stage));
        v_ring.advance();
    }
    /// In the order in which attend() asks: a block's values follow the next block's keys. The
    /// first keys do not wait for the last item's Q to be done with.
    __device__ __forceinline__ void load_item(Item item) {
        const int first_row = item.row_tile * tile.rows;
        const Blocks blocks = p.band.blocks(first_row, tile.rows, tile.keys);
        if (blocks.count() == 0) {
            return;
        }
        const int sequence = item.head / p.args.heads_q;
        const int head = item.head - sequence * p.args.heads_q;
        const int head_kv = head / p.group;
        load_k(blocks.last - 1, head_kv, sequence);
        ptx::mbarrier_wait_parity(s.q_empty(), q_parity ^ 1);
        q_parity ^= 1;
        load_slabs<tile.headdim, tile.rows>(s.q(), p.q, first_row, head, sequence, s.q_full());
        for (int block = blocks.last - 1; block > blocks.first; --block) {
            load_k(block - 1, head_kv, sequence);
            load_v(block, head_kv, sequence);
        }
        load_v(blocks.first, head_kv, sequence);
    }
};

template <Tile tile>
__device__ __forceinline__ void produce(const Params& p, const Shared<tile>& s) {
    ptx::prefetch_tensormap(&p.q);
    if (p.band.length_k > 0) {  // else there is no map of K and V
        ptx::prefetch_tensormap(&p.k);
        ptx::prefetch_tensormap(&p.v);
    }
    Producer<tile> producer{p, s, {}, {}};
    const int items = p.order.items();
    const int cta = static_cast<int>(blockIdx.x);
    const int ctas = static_cast<int>(gridDim.x);
    for (int round = 0;; ++round) {
        const int index = index_of(cta, ctas, round, items);
        if (index == items) {
            return;
        }
        producer.load_item(p.order.item(index));
    }
}

}  // namespace raceline::kernels::prefill_sm90
