// SPDX-License-Identifier: Apache-2.0
// The producer walks through the CTA's items and fetches Q once an item and K and V once a block,
// as soon as their place is empty: one thread by TMA or, where an address or a stride is nothing
// that the copy engine can read, the whole warpgroup by loads and stores.
#pragma once

#include "gpu/ptx/bar.cuh"
#include "gpu/ptx/cp_async_bulk_tensor.cuh"
#include "gpu/ptx/fence_proxy_async_shared.cuh"
#include "gpu/ptx/ld_shared_u32.cuh"
#include "gpu/ptx/st_shared_u32.cuh"
#include "gpu/ptx/st_shared_v4_u32.cuh"
#include "gpu/ptx/wgmma_group.cuh"
#include "kernels/prefill_sm90/pipeline.cuh"
#include "kernels/prefill_sm90/sequence.cuh"

namespace raceline::kernels::prefill_sm90 {

/// `rows` tokens from `token` on, as slabs of 64 columns one behind the other. Columns that the
/// tensor does not have become zeros, and so do tokens behind its end.
struct Box {
    std::uint32_t to, full;  ///< where it goes, and the barrier that says that it is there
    const CUtensorMap* map;
    const TensorArg* tensor;
    std::int32_t headdim, token, head, index;
    std::int32_t tokens;  ///< from `token` on that the sequence has; read by fetch_by_hand only
};

template <int columns, int rows>
__device__ __forceinline__ void fetch(const Box& box) {
    ptx::mbarrier_arrive_expect_tx(box.full, columns * rows * 2);
#pragma unroll
    for (int slab = 0; slab < columns / slab_columns; ++slab) {
        ptx::cp_async_bulk_tensor_4d_shared_global(box.to + slab * rows * slab_row_bytes, box.map,
                                                   slab * slab_columns, box.token, box.head,
                                                   box.index, box.full);
    }
}

/// Eight elements of two bytes, those from `count` on zero.
__device__ __forceinline__ uint4 load_piece(const std::uint16_t* from, int count) {
    std::uint32_t words[4] = {0, 0, 0, 0};
#pragma unroll
    for (int e = 0; e < 8; ++e) {
        if (e < count) {
            words[e / 2] |= static_cast<std::uint32_t>(from[e]) << (16 * (e % 2));
        }
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

/// The same place for the same element as TMA's 128-byte swizzle gives it.
template <int columns, int rows>
__device__ __forceinline__ void fetch_by_hand(const Box& box) {
    constexpr int pieces = columns / 8;
    const TensorArg& t = *box.tensor;
    const std::uint16_t* from = static_cast<const std::uint16_t*>(t.data) +
                                box.index * t.batch_stride + box.head * t.head_stride;
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < rows * pieces; i += 128) {
        const int row = i / pieces;
        const int piece = i - row * pieces;
        const int count = row < box.tokens ? box.headdim - 8 * piece : 0;
        ptx::st_shared_v4_u32(
            box.to + swizzled_bytes(row, piece, rows),
            load_piece(from + (box.token + row) * t.seq_stride + 8 * piece, count));
    }
    ptx::fence_proxy_async_shared();
    ptx::bar_sync(producer_barrier, 128);
    if (threadIdx.x == 0) {
        ptx::mbarrier_arrive(box.full);
    }
}

template <Tile tile, bool by_hand>
struct Producer {
    const Params& p;
    Shared<tile> s;
    Ring<tile.stages> k_ring, v_ring;
    Ring<Shared<tile>::layout.q_slots> q_ring;
    Ring<announced_items> item_ring;
    int round = 0;

    template <int columns, int rows>
    __device__ __forceinline__ void fetch_box(const Box& box) const {
        if constexpr (by_hand) {
            fetch_by_hand<columns, rows>(box);
        } else {
            fetch<columns, rows>(box);
        }
    }
    __device__ __forceinline__ void load_q(const Work& w) {
#pragma unroll 1
        for (int warpgroup = 0; warpgroup < tile.warpgroups(); ++warpgroup) {
            const int row = w.first_row + 64 * warpgroup;
            ptx::mbarrier_wait_parity(s.q_empty(q_ring.stage(), warpgroup), q_ring.parity() ^ 1);
            fetch_box<tile.headdim, 64>({s.q(q_ring.stage(), warpgroup),
                                         s.q_full(q_ring.stage(), warpgroup), &p.q, &p.args.q,
                                         p.args.headdim, w.sequence.q_token + row, w.head,
                                         w.sequence.q_index, w.sequence.band.length_q - row});
        }
        q_ring.advance();
    }
    __device__ __forceinline__ void load_k(const Work& w, int block) {
        const int key = block * tile.keys;
        ptx::mbarrier_wait_parity(s.k_empty(k_ring.stage()), k_ring.parity() ^ 1);
        fetch_box<tile.headdim, tile.keys>({s.k(k_ring.stage()), s.k_full(k_ring.stage()), &p.k,
                                            &p.args.k, p.args.headdim, w.sequence.k_token + key,
                                            w.head_kv, w.sequence.k_index,
                                            w.sequence.band.length_k - key});
        k_ring.advance();
    }
    __device__ __forceinline__ void load_v(const Work& w, int block) {
        const int key = block * tile.keys;
        ptx::mbarrier_wait_parity(s.v_empty(v_ring.stage()), v_ring.parity() ^ 1);
        fetch_box<tile.headdim_v, tile.keys>({s.v(v_ring.stage()), s.v_full(v_ring.stage()), &p.v,
                                              &p.args.v, p.args.headdim_v, w.sequence.k_token + key,
                                              w.head_kv, w.sequence.k_index,
                                              w.sequence.band.length_k - key});
        v_ring.advance();
    }
    /// The item to load next, announced to the matrix warpgroups; one past the last if there is
    /// none.
    __device__ __forceinline__ int next_item() {
        if (!by_hand || threadIdx.x == 0) {
            ptx::mbarrier_wait_parity(s.item_empty(item_ring.stage()), item_ring.parity() ^ 1);
            ptx::st_shared_u32(s.announced(item_ring.stage()), static_cast<std::uint32_t>(draw()));
            ptx::mbarrier_arrive(s.item_full(item_ring.stage()));
        }
        if constexpr (by_hand) {
            ptx::bar_sync(producer_barrier, 128);
        }
        const auto index = static_cast<int>(ptx::ld_shared_u32(s.announced(item_ring.stage())));
        item_ring.advance();
        ++round;
        return index;
    }
    __device__ __forceinline__ int draw() const {
        const int items = p.order.items();
        const int cta = static_cast<int>(blockIdx.x);
        const int ctas = static_cast<int>(gridDim.x);
        if (p.handed_out == nullptr || round == 0) {
            return index_of(cta, ctas, round, items);
        }
        return smaller(items, ctas + static_cast<int>(atomicAdd(p.handed_out, 1U)));
    }
    /// A block's values follow the keys of the block after it, as the matrix warpgroups ask for
    /// them. An item's last values do not wait for the next item: it may be announced only when
    /// this one's values are there (clear_tail).
    __device__ __forceinline__ void load_all() {
        const int items = p.order.items();
#pragma unroll 1
        for (int index = next_item(); index < items; index = next_item()) {
            const Work w = work_of<tile>(p, p.order.item(index));
            if (w.blocks.count() == 0) {
                continue;
            }
            load_k(again(w, index), w.blocks.last - 1);
            load_q(again(w, index));
#pragma unroll 1
            for (int block = w.blocks.last - 1; block > w.blocks.first; --block) {
                load_k(again(w, index), block - 1);
                load_v(again(w, index), block);
            }
            load_v(again(w, index), w.blocks.first);
        }
    }
    /// The producer has few registers: by hand, where a block takes long anyway, the item is looked
    /// up anew for every block.
    __device__ __forceinline__ Work again(const Work& w, int index) const {
        if constexpr (by_hand) {
            return work_of<tile>(
                p,
                p.order.item(static_cast<int>(ptx::recomputed(static_cast<std::uint32_t>(index)))));
        } else {
            return w;
        }
    }
};

/// Executed by the producer's warpgroup.
template <Tile tile>
__device__ __forceinline__ void produce(const Params& p, const Shared<tile>& s) {
    if (p.by_hand) {
        Producer<tile, true>{p, s, {}, {}, {}, {}}.load_all();
    } else if (threadIdx.x == 0) {
        ptx::prefetch_tensormap(&p.q);
        ptx::prefetch_tensormap(&p.k);
        ptx::prefetch_tensormap(&p.v);
        Producer<tile, false>{p, s, {}, {}, {}, {}}.load_all();
    }
}

}  // namespace raceline::kernels::prefill_sm90
