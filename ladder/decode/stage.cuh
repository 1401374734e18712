// SPDX-License-Identifier: Apache-2.0
// How a CTA brings rows of K and V to shared memory.
#pragma once

#include <cstdint>

#include "ladder/decode/plan.hpp"

namespace raceline::kernels::decode {

template <class T>
__device__ uint4 load_16(const T* from) {
    return __ldg(reinterpret_cast<const uint4*>(from));
}

constexpr int batch_rows = 4;  // of K and of V that a thread loads at once

// Every `step`th row of a batch from `first + row` on, 16 bytes of K and of V. A thread's eight
// loads are all under way before the first is stored: bandwidth is bytes in flight over latency.
// Past the last of `keys` rows that one is loaded again.
template <int step, class Cache, class Store>
__device__ void stage_batch(const Cache& cache, int chunk, int first, int row, int keys,
                            const Store& store_row) {
    uint4 raw_k[batch_rows], raw_v[batch_rows];
    for (int j = 0; j < batch_rows; ++j) {
        const auto place = cache.place(first + min(row + j * step, keys - 1));
        raw_k[j] = load_16(cache.k_at(place) + chunk);
        raw_v[j] = load_16(cache.v_at(place) + chunk);
    }
    for (int j = 0; j < batch_rows; ++j) {
        store_row(row + j * step, raw_k[j], raw_v[j]);
    }
}

// `keys` rows of K and V from `first` on to shared memory, whose tiles have at most `most`.
template <class T, int d, int most, class Cache>
__device__ void stage(T* tile_k, T* tile_v, const Cache& cache, int first, int keys) {
    constexpr int elements = 16 / static_cast<int>(sizeof(T));  // of a load
    constexpr int chunks = d / elements;                        // of a row
    constexpr int step = threads / chunks;  // rows that all threads load at once
    static_assert(most % (step * batch_rows) == 0);
    const int chunk = static_cast<int>(threadIdx.x % chunks) * elements;
#pragma unroll 1
    for (int row = static_cast<int>(threadIdx.x / chunks); row < keys; row += step * batch_rows) {
        stage_batch<step>(cache, chunk, first, row, keys, [&](int to, uint4 raw_k, uint4 raw_v) {
            *reinterpret_cast<uint4*>(tile_k + to * d + chunk) = raw_k;
            *reinterpret_cast<uint4*>(tile_v + to * d + chunk) = raw_v;
        });
    }
}

// `keys` rows from `first` on to tiles of `most`, by `store_row` of a row, the first of its
// `elements` and what was loaded. Every thread stores, so that no row of a `block` of keys is left
// as it was.
template <int d, int elements, int most, int block, class Cache, class Store>
__device__ void stage_blocks(const Cache& cache, int first, int keys, const Store& store_row) {
    constexpr int chunks = d / elements;    // of a row
    constexpr int step = threads / chunks;  // rows that all threads load at once
    static_assert(most % (step * batch_rows) == 0 && step * batch_rows % block == 0);
    const int chunk = static_cast<int>(threadIdx.x % chunks) * elements;
#pragma unroll 1
    for (int from = 0; from < keys; from += step * batch_rows) {
        const int row = from + static_cast<int>(threadIdx.x / chunks);
        stage_batch<step>(cache, chunk, first, row, keys, [&](int to, uint4 raw_k, uint4 raw_v) {
            store_row(to, chunk, raw_k, raw_v);
        });
    }
}

}  // namespace raceline::kernels::decode
