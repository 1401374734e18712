// SPDX-License-Identifier: Apache-2.0
// V transposed for all rows at once: a CTA a block of keys and KV head fetches it as the main
// kernel does, turns it as the main kernel's transposing warps do, and writes its image.
#pragma once

#include "gpu/ptx/cp_async_bulk.cuh"
#include "gpu/ptx/cp_async_bulk_tensor.cuh"
#include "kernels/prefill_sm90_fp8/load.cuh"
#include "kernels/prefill_sm90_fp8/transpose.cuh"

namespace raceline::kernels::prefill_sm90_fp8 {

/// What the instructions that transpose have to know of any tile with such blocks.
template <int headdim, int keys>
inline constexpr Tile tile_of_blocks{headdim, 128, keys, 2, 0, 0, 1};

/// A block of keys that stands at a place.
struct Place {
    Sequence sequence;
    std::int32_t block;
};
template <int keys>
__device__ __forceinline__ Place place_at(const Params& p, std::int32_t place) {
    // The last sequence that begins there or before.
    std::int32_t b = 0;
    for (std::int32_t end = p.args.batch; end - b > 1;) {
        const std::int32_t middle = b + (end - b) / 2;
        const bool begun = image_place<keys>(p, middle) <= place;
        b = begun ? middle : b;
        end = begun ? end : middle;
    }
    return {sequence_of(p, b), place - image_place<keys>(p, b)};
}

template <int headdim, int keys>
__global__ void __launch_bounds__(preparing_threads)
    transpose_values(const __grid_constant__ Params p) {
    constexpr Tile tile = tile_of_blocks<headdim, keys>;
    extern __shared__ char dynamic_shared[];
    const auto start = static_cast<std::uint32_t>(__cvta_generic_to_shared(dynamic_shared));
    const std::uint32_t v = (start + 1023U) & ~1023U;
    const std::uint32_t t = v + tile.block_bytes();
    const std::uint32_t full = t + tile.block_bytes();
    const auto image = static_cast<std::int64_t>(blockIdx.x);
    const auto place = static_cast<std::int32_t>(blockIdx.x / p.args.heads_kv);
    const auto head = static_cast<std::int32_t>(blockIdx.x % p.args.heads_kv);
    const Place at = place_at<keys>(p, place);
    const std::int32_t there = at.sequence.band.length_k - at.block * keys;
    if (there <= 0) {
        return;  // the sequence ends before: nobody reads this image
    }
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(full, 1);
        ptx::fence_mbarrier_init();
        fetch<tile, keys>(
            {v, full, &p.v, at.sequence.k_token + at.block * keys, head, at.sequence.k_index});
    }
    __syncthreads();
    ptx::mbarrier_wait_parity(full, 0);
    const auto warp = static_cast<int>(threadIdx.x / 32);
    transpose_block<tile, preparing_threads / 32>(v, t, warp, there);
    ptx::fence_proxy_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk_global_shared(p.images + image * tile.block_bytes(), t,
                                         tile.block_bytes());
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read<0>();
    }
}

}  // namespace raceline::kernels::prefill_sm90_fp8
