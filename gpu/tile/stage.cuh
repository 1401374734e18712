// SPDX-License-Identifier: Apache-2.0
// The way of a tile of rows from global into shared memory, through registers.
#pragma once

#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "gpu/tile/row_tile.cuh"

namespace raceline::gpu {

/// What one load brought, as it stands in a tile in shared memory; zeros from row `end` on. A rung
/// may give another one to `stage`.
struct Put {
    template <int rows, int width, class T>
    __device__ void operator()(float (&tile)[rows][width], int row, int column, T raw,
                               int end) const {
        tile[row][column] = row < end ? to_float(raw) : 0;
    }
    template <int rows, int width>
    __device__ void operator()(__half (&tile)[rows][width], int row, int column, __half raw,
                               int end) const {
        tile[row][column] = row < end ? raw : __half(0.F);
    }
    template <int rows, int width>
    __device__ void operator()(__half (&tile)[rows][width], int row, int column, uint4 raw,
                               int end) const {
        *reinterpret_cast<uint4*>(&tile[row][column]) = row < end ? raw : uint4{};
    }
};

/// Tokens from `first` on of a head into the rows of a tile, by all threads of the CTA; zeros from
/// token `length` on. Neighbouring threads load neighbouring chunks, an element or what else `Load`
/// is; a thread stays in its columns. Up to 32 loads come first, and none behind a branch (past the
/// end the last row is read again): in flight together.
template <int threads, int headdim, class T, class Load = T, class To, int rows, int width,
          class Tensor, class Store = Put>
__device__ void stage(To (&tile)[rows][width], const Head& at, const Tensor& t, int first,
                      int length, const Store& put = {}) {
    constexpr int each = sizeof(Load) / sizeof(T);
    constexpr int step = threads * each / headdim;
    constexpr int loads = rows / step < 32 ? rows / step : 32;
    const T* from = at.token<T>(t, first);
    const std::int64_t stride = t.seq_stride;
    const int left = length - first;
    const int first_row = static_cast<int>(threadIdx.x) / (headdim / each);
    const int column = static_cast<int>(threadIdx.x) % (headdim / each) * each;
#pragma unroll 1
    for (int before = 0; before < rows / step; before += loads) {
        const int row = first_row + before * step;
        Load loaded[loads];
#pragma unroll
        for (int i = 0; i < loads; ++i) {
            const T* chunk = from + min(row + i * step, left - 1) * stride + column;
            loaded[i] = *reinterpret_cast<const Load*>(chunk);
        }
#pragma unroll
        for (int i = 0; i < loads; ++i) {
            put(tile, row + i * step, column, loaded[i], left);
        }
    }
}

}  // namespace raceline::gpu
