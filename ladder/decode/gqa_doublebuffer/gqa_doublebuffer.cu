// SPDX-License-Identifier: Apache-2.0
// gqa with two buffers: while a tile is computed on, cp.async brings the next one, past registers.
// The shared memory is gqa's, cut in half, so that as many CTAs are resident.
#include "gpu/ptx/cp_async.cuh"
#include "ladder/decode/gqa/gqa.cuh"

namespace raceline::kernels::gqa_doublebuffer {

using namespace decode;
using paged::Cache;

// 16 bytes from global to shared memory, some time before the wait for their group returns.
template <class T>
__device__ void copy_16(T* to, const T* from) {
    ptx::cp_async_cg_16(static_cast<std::uint32_t>(__cvta_generic_to_shared(to)), from, 16);
}

// Starts the copies of `keys` rows of K and V from `first` on, one group for the whole tile.
template <class T, int d>
__device__ void start_copies(T* tile_k, T* tile_v, const Cache<T>& cache, int first, int keys) {
    constexpr int elements = 16 / static_cast<int>(sizeof(T));  // of a copy
    constexpr int chunks = d / elements;                        // of a row
    constexpr int step = threads / chunks;  // rows that all threads copy at once
    const int chunk = static_cast<int>(threadIdx.x % chunks) * elements;
#pragma unroll 4
    for (int row = static_cast<int>(threadIdx.x / chunks); row < keys; row += step) {
        const auto place = cache.place(first + row);
        copy_16(tile_k + row * d + chunk, cache.k_at(place) + chunk);
        copy_16(tile_v + row * d + chunk, cache.v_at(place) + chunk);
    }
    ptx::cp_async_commit_group();
}

// gqa's stage as two buffers.
struct DoubleBuffered {
    static constexpr int ctas = 2;

    template <class T, int d>
    struct Tile {
        static constexpr int most = tile_keys(stage_bytes / 2, d, sizeof(T));
        static constexpr int stride = 2 * most * d;

        __device__ Tile(T* tiles, const Cache<T>& cache, int first, int last) {
            start(tiles, cache, first, last, 0);
        }
        __device__ void start(T* tiles, const Cache<T>& cache, int from, int last, int which) {
            T* tile = tiles + which * 2 * most * d;  // nothing but an empty group past the end
            start_copies<T, d>(tile, tile + most * d, cache, from, min(most, last - from));
        }
        __device__ void fill(T* tiles, const Cache<T>& cache, int from, int, int last, int buffer) {
            start(tiles, cache, from + most, last, buffer ^ 1);
            ptx::cp_async_wait_group<1>();  // of all but the tile just started
            __syncthreads();                // other threads' copies have landed, too
        }
        __device__ void release() {
            __syncthreads();  // this buffer is consumed
        }
    };
};

void launch(const AttentionArgs& a, int tile, const Device& device, void* workspace, void* stream) {
    gqa::launch_groups<float, __half>(
        cut("gqa_doublebuffer", a, gqa::layout_of, tiles.at(tile), device, workspace, stream),
        [](auto zero, auto d, auto rows) {
            return gqa::partial<decltype(zero), d(), rows(), DoubleBuffered>;
        });
}

}  // namespace raceline::kernels::gqa_doublebuffer
