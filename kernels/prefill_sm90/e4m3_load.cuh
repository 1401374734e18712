// SPDX-License-Identifier: Apache-2.0
// The copying warp: it describes the CTA's work tiles, and one of its threads fetches Q once a work
// tile and K and V, or V's image, once a block by TMA, as soon as their place is empty.
#pragma once

#include "gpu/ptx/cp_async_bulk.cuh"
#include "gpu/ptx/redux_or_b32.cuh"
#include "kernels/prefill_sm90/load.cuh"
#include "kernels/prefill_sm90/params.cuh"

namespace raceline::kernels::prefill_sm90_fp8 {

/// As many columns as the tile has.
template <Tile tile, int rows>
__device__ __forceinline__ void fetch_rows(const Box& box) {
    fetch<tile.headdim, rows, tile.row_bytes(), tile.row_bytes()>(box);
}

template <Tile tile>
struct Loader {
    const Params& p;
    Shared<tile> s;
    Ring<tile.stages> k_ring, v_ring;
    Ring<Shared<tile>::layout.q_stages / tile.warpgroups()> q_ring;
    Ring<tile.descriptor_slots> descriptor_ring;
    Scheduler<tile, Params, Shared<tile>> scheduler;

    __device__ __forceinline__ Loader(const Params& params, const Shared<tile>& shared)
        : p(params), s(shared), scheduler{params, shared, {}} {}

    /// The descriptor in the current slot, which is made uniform: rows of it are then a constant
    /// away from one register, where the compiler would keep an address for each.
    __device__ __forceinline__ Source source() const {
        const int slot = number(ptx::uniform(word(descriptor_ring.stage())));
        return source_of(s, slot);
    }
    __device__ __forceinline__ void load_q(const Source& w) {
#pragma unroll 1
        for (int warpgroup = 0; warpgroup < tile.warpgroups(); ++warpgroup) {
            ptx::mbarrier_wait_parity(s.q_empty(q_ring.stage(), warpgroup), q_ring.parity() ^ 1);
            fetch_rows<tile, 64>({s.q(q_ring.stage(), warpgroup),
                                  s.q_full(q_ring.stage(), warpgroup), &p.q,
                                  w.q_token + 64 * warpgroup, w.head, w.q_index});
        }
        q_ring.advance();
    }
    __device__ __forceinline__ void load_k(const Source& w, int block) {
        ptx::mbarrier_wait_parity(s.k_empty(k_ring.stage()), k_ring.parity() ^ 1);
        fetch_rows<tile, tile.keys>({s.k(k_ring.stage()), s.k_full(k_ring.stage()), &p.k,
                                     w.k_token + block * tile.keys, w.head_kv, w.k_index});
        k_ring.advance();
    }
    __device__ __forceinline__ void load_v(const Source& w, int block) {
        if constexpr (tile.prepared != 0) {
            return load_image(w, block);
        }
        ptx::mbarrier_wait_parity(s.raw_v_empty(v_ring.stage()), v_ring.parity() ^ 1);
        fetch_rows<tile, tile.keys>({s.raw_v(v_ring.stage()), s.raw_v_full(v_ring.stage()), &p.v,
                                     w.k_token + block * tile.keys, w.head_kv, w.k_index});
        v_ring.advance();
    }
    /// V transposed, as shared memory has it: one run of bytes.
    __device__ __forceinline__ void load_image(const Source& w, int block) {
        const int stage = v_ring.stage();
        ptx::mbarrier_wait_parity(s.v_empty(stage), v_ring.parity() ^ 1);
        ptx::mbarrier_arrive_expect_tx(s.v_full(stage), tile.block_bytes());
        const std::int64_t image = std::int64_t{w.place + block} * p.args.heads_kv + w.head_kv;
        ptx::cp_async_bulk_shared_global(s.v(stage), p.images + image * tile.block_bytes(),
                                         tile.block_bytes(), s.v_full(stage));
        v_ring.advance();
    }
    /// A block's values follow the keys of the block after it, as the matrix warpgroups ask for
    /// them: the values of block `from` down to those behind `to`, and the keys from there on.
    __device__ __forceinline__ void load_blocks(const Source& w, int from, int to) {
#pragma unroll 1
        for (int block = from; block > to; --block) {
            load_k(w, block - 1);
            load_v(w, block);
        }
    }
    /// Down to which block copies are started before the next work tile is described: the first,
    /// or, of work tiles that are handed out, as late as schedule::draw_lead says.
    __device__ __forceinline__ int describes_next_at(const Source& w) const {
        const int last = w.blocks.last - 1;
        return p.handed_out != nullptr ? smaller(last, w.blocks.first + schedule::draw_lead) : last;
    }
    __device__ __forceinline__ bool copies(const Source& w) const {
        return threadIdx.x % 32 == 0 && w.blocks.count() > 0;
    }
    __device__ __forceinline__ void load_first(const Source& w) {
        if (copies(w)) {
            const int last = w.blocks.last - 1;
            load_k(w, last);
            load_q(w);
            load_blocks(w, last, describes_next_at(w));
        }
        __syncwarp();
    }
    __device__ __forceinline__ void load_rest(const Source& w) {
        if (copies(w)) {
            load_blocks(w, describes_next_at(w), w.blocks.first);
            load_v(w, w.blocks.first);
        }
        __syncwarp();
    }
    /// Executed by the whole warp. The next work tile is described as soon as this one's first
    /// copies are under way. That takes nearly all of a thread's registers, so what this work
    /// tile's copies need is read again afterwards; it stands until three more have been described.
    __device__ __forceinline__ void load_all() {
        scheduler.next();
#pragma unroll 1
        while (true) {
            const Source w = source();
            if (!w.there) {
                break;
            }
            load_first(w);
            scheduler.next();
            load_rest(source());
            descriptor_ring.advance();
        }
    }
};

}  // namespace raceline::kernels::prefill_sm90_fp8
