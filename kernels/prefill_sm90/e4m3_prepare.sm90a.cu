// SPDX-License-Identifier: Apache-2.0
// V transposed for all rows at once: a CTA a block of keys and KV head fetches it as the main
// kernel does, turns it as the main kernel's transposing warps do, and writes its image.
#include <utility>

#include "gpu/ptx/cp_async_bulk.cuh"
#include "gpu/ptx/cp_async_bulk_tensor.cuh"
#include "kernels/prefill_sm90/e4m3_load.cuh"
#include "kernels/prefill_sm90/e4m3_transpose.cuh"
#include "kernels/prefill_sm90/params.cuh"
#include "registry/enqueue.cuh"

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
    return {schedule::sequence_of<Sequence>(p, b), place - image_place<keys>(p, b)};
}

template <int headdim, int keys>
__global__ void __launch_bounds__(preparing_threads)
    transpose_values(const __grid_constant__ Params p) {
    constexpr Tile tile = tile_of_blocks<headdim, keys>;
    const std::uint32_t v = start_of_shared();
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
        fetch_rows<tile, keys>(
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

namespace {

template <int headdim, int keys>
void launch_blocks(const Params& params, std::int64_t images, void* stream) {
    constexpr std::size_t smem = preparing_shared_bytes(tile_of_blocks<headdim, keys>);
    enqueue("prefill_sm90_fp8's transposition of V", transpose_values<headdim, keys>,
            {dim3(static_cast<unsigned>(images)), preparing_threads, smem, stream}, params);
}

/// No earlier tile has blocks like it.
constexpr bool first_of_its_blocks(std::size_t index) {
    for (std::size_t i = 0; i < index; ++i) {
        if (tiles[i].prepared != 0 && tiles[i].headdim == tiles[index].headdim &&
            tiles[i].keys == tiles[index].keys) {
            return false;
        }
    }
    return tiles[index].prepared != 0;
}

}  // namespace

void launch_preparation(const Tile& tile, const Params& params, std::int64_t images, void* stream) {
    const auto launch_if = [&]<std::size_t index>(std::integral_constant<std::size_t, index>) {
        if constexpr (first_of_its_blocks(index)) {
            constexpr Tile blocks = tiles[index];
            if (tile.headdim == blocks.headdim && tile.keys == blocks.keys) {
                launch_blocks<blocks.headdim, blocks.keys>(params, images, stream);
            }
        }
    };
    const auto try_all = [&]<std::size_t... index>(std::index_sequence<index...>) {
        (launch_if(std::integral_constant<std::size_t, index>()), ...);
    };
    try_all(std::make_index_sequence<tiles.size()>());
}

}  // namespace raceline::kernels::prefill_sm90_fp8
