// SPDX-License-Identifier: Apache-2.0
// The producer walks through the CTA's work tiles and fetches Q once a work tile and K and V once a
// block, as soon as their place is empty: one thread by TMA or, where an address or a stride is
// nothing that the copy engine can read, a warp by loads and stores.
#pragma once

#include "gpu/ptx/fence_proxy_async_shared.cuh"
#include "gpu/ptx/st_shared_u32.cuh"
#include "gpu/ptx/wgmma_group.cuh"
#include "kernels/prefill_sm90/f16_epilogue.cuh"
#include "kernels/prefill_sm90/load.cuh"

namespace raceline::kernels::prefill_sm90 {

/// A box, and what copying it by hand needs.
struct TensorBox : Box {
    const TensorArg* tensor;
    std::int32_t headdim;
    std::int32_t tokens;  ///< from `token` on that the sequence has
};

/// Two elements, those from `count` on zero.
__device__ __forceinline__ std::uint32_t load_word(const std::uint16_t* from, int count) {
    const std::uint32_t low = count > 0 ? from[0] : 0U;
    const std::uint32_t high = count > 1 ? from[1] : 0U;
    return low | high << 16;
}

/// The same place for the same element as TMA's 128-byte swizzle gives it. Executed by a whole
/// warp, which has few registers: four words at a time, whose loads wait side by side.
template <int columns, int rows>
__device__ __forceinline__ void fetch_by_hand(const TensorBox& box) {
    constexpr int words = columns / 2;
    constexpr int at_a_time = 4;
    static_assert(words % 32 == 0 && rows % at_a_time == 0);
    const TensorArg& t = *box.tensor;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const std::uint16_t* from = static_cast<const std::uint16_t*>(t.data) +
                                box.index * t.batch_stride + box.head * t.head_stride +
                                box.token * t.seq_stride;
#pragma unroll 1
    for (int row = 0; row < rows; row += at_a_time) {
#pragma unroll 1
        for (int word = lane; word < words; word += 32) {
            std::uint32_t x[at_a_time];
#pragma unroll
            for (int i = 0; i < at_a_time; ++i) {
                const int count = row + i < box.tokens ? box.headdim - 2 * word : 0;
                x[i] = load_word(from + (row + i) * t.seq_stride + 2 * word, count);
            }
#pragma unroll
            for (int i = 0; i < at_a_time; ++i) {
                ptx::st_shared_u32(
                    box.to + swizzled_bytes(row + i, word / 4, rows) + 4 * (word % 4), x[i]);
            }
        }
    }
    ptx::fence_proxy_async_shared();
    __syncwarp();
    if (lane == 0) {
        ptx::mbarrier_arrive(box.full);
    }
}

template <Tile tile, bool by_hand>
struct Producer {
    const Params& p;
    Shared<tile> s;
    Ring<tile.stages> k_ring, v_ring;
    StageRing<Shared<tile>::layout.q_stages> q_ring{0};
    Ring<tile.descriptor_slots> descriptor_ring;

    __device__ __forceinline__ Producer(const Params& params, const Shared<tile>& shared)
        : p(params), s(shared) {}

    template <int columns, int rows>
    __device__ __forceinline__ void fetch_box(const TensorBox& box) const {
        if constexpr (by_hand) {
            fetch_by_hand<columns, rows>(box);
        } else {
            fetch<columns, rows, slab_columns, slab_row_bytes>(box);
        }
    }
    /// Whether any of the work tile's rows are this warpgroup's: a short tile has none for some.
    __device__ __forceinline__ bool has_rows(const Source& w, int warpgroup) const {
        const std::uint32_t row = descriptor_row(s, w.slot, tile.descriptor_rows + warpgroup);
        return number(ptx::ld_shared_v4_u32(row).y) != schedule::nowhere;
    }
    /// Says that a stage is there without copying anything. A warp's lanes meet first: one that
    /// still polls when the stage goes round would wait for the wrong phase.
    __device__ __forceinline__ void leave_q() const {
        if constexpr (by_hand) {
            __syncwarp();
        }
        if (!by_hand || threadIdx.x == 0) {
            ptx::mbarrier_arrive(s.q_full(q_ring.stage()));
        }
    }
    __device__ __forceinline__ void load_q(const Source& w) {
#pragma unroll 1
        for (int warpgroup = 0; warpgroup < tile.warpgroups(); ++warpgroup) {
            const int row = rows_of<tile>(warpgroup, w.reversed);
            ptx::mbarrier_wait_parity(s.q_empty(q_ring.stage()), q_ring.parity() ^ 1);
            if (!has_rows(w, warpgroup)) {
                leave_q();
            } else {
                fetch_box<tile.headdim, 64>({{s.q(q_ring.stage()), s.q_full(q_ring.stage()), &p.q,
                                              w.q_token + row, w.head, w.q_index},
                                             &p.args.q,
                                             p.args.headdim,
                                             w.length_q - row});
            }
            q_ring.advance(1);
        }
    }
    /// A block of K, or of V, for the next stage of its ring.
    __device__ __forceinline__ void load_k(const Source& w, int block) {
        const int key = block * tile.keys;
        ptx::mbarrier_wait_parity(s.k_empty(k_ring.stage()), k_ring.parity() ^ 1);
        fetch_block<tile.headdim>(w, key, s.k(k_ring.stage()), s.k_full(k_ring.stage()), p.k,
                                  p.args.k, p.args.headdim);
        k_ring.advance();
    }
    __device__ __forceinline__ void load_v(const Source& w, int block) {
        const int key = block * tile.keys;
        ptx::mbarrier_wait_parity(s.v_empty(v_ring.stage()), v_ring.parity() ^ 1);
        fetch_block<tile.headdim_v>(w, key, s.v(v_ring.stage()), s.v_full(v_ring.stage()), p.v,
                                    p.args.v, p.args.headdim_v);
        v_ring.advance();
    }
    template <int columns>
    __device__ __forceinline__ void fetch_block(const Source& w, int key, std::uint32_t to,
                                                std::uint32_t full, const CUtensorMap& map,
                                                const TensorArg& tensor, int width) const {
        fetch_box<columns, tile.keys>({{to, full, &map, w.k_token + key, w.head_kv, w.k_index},
                                       &tensor,
                                       width,
                                       w.length_k - key});
    }
    /// From here on the next work tile may be described, for all that the copies have to do with
    /// it.
    __device__ __forceinline__ void seen() const {
        if constexpr (by_hand) {
            __syncwarp();
        }
        if (threadIdx.x == 0) {
            ptx::mbarrier_arrive(s.descriptor_empty(descriptor_ring.stage()));
        }
    }
    /// A block's values follow the keys of the block after it, as the matrix warpgroups ask for
    /// them. A work tile that is handed out is drawn late (see schedule::draw_lead), one of a fixed
    /// share at once.
    __device__ __forceinline__ void load_tile(const Source& w) {
        const int count = w.blocks.count();
        const bool early = p.handed_out == nullptr || count <= schedule::draw_lead;
        if (early) {
            seen();
        }
        if (count == 0) {
            return;
        }
        load_k(w, w.blocks.last - 1);
        load_q(w);
#pragma unroll 1
        for (int block = w.blocks.last - 1; block > w.blocks.first; --block) {
            if (!early && block == w.blocks.first + schedule::draw_lead) {
                seen();
            }
            load_k(w, block - 1);
            load_v(w, block);
        }
        load_v(w, w.blocks.first);
    }
    __device__ __forceinline__ void load_all() {
#pragma unroll 1
        while (true) {
            ptx::mbarrier_wait_parity(s.descriptor_full(descriptor_ring.stage()),
                                      descriptor_ring.parity());
            const Source w = source_of(s, descriptor_ring.stage());
            descriptor_ring.advance();
            if (!w.there) {
                seen();
                break;
            }
            load_tile(w);
        }
    }
};

/// Executed by the producer's warpgroup: the first warp copies, the second one schedules, the
/// others store.
template <Tile tile>
__device__ __forceinline__ void produce(const Params& p, const Shared<tile>& s) {
    const int warp = __shfl_sync(0xFFFFFFFFU, static_cast<int>(threadIdx.x / 32), 0);
    if (warp == 0 && p.by_hand) {
        Producer<tile, true>(p, s).load_all();
    } else if (warp == 0) {
        if (threadIdx.x == 0) {
            ptx::prefetch_tensormap(&p.q);
            ptx::prefetch_tensormap(&p.k);
            ptx::prefetch_tensormap(&p.v);
            Producer<tile, false>(p, s).load_all();
        }
    } else if (warp == 1) {
        Scheduler<tile, Params, Shared<tile>> scheduler{p, s, {}};
#pragma unroll 1
        while (scheduler.next()) {
        }
    } else if constexpr (stores_boxes(tile)) {
        Storer<tile>{p, s, warp - 2}.store_all();
    }
}

}  // namespace raceline::kernels::prefill_sm90
