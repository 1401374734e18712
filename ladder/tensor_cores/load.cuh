// SPDX-License-Identifier: Apache-2.0
// Who reads what: the tile of rows that a CTA has, and the way of a tensor into shared memory.
#pragma once

#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "ladder/tensor_cores/tile.hpp"

namespace raceline::kernels::tensor_cores {

// A tile of neighbouring query rows of one head; blockIdx.x counts the tiles of all heads.
struct RowTile {
    int first, head, batch;

    __device__ RowTile(const AttentionArgs& a, int rows) {
        const int tiles = (a.seqlen_q + rows - 1) / rows;
        const int block = static_cast<int>(blockIdx.x);
        first = block % tiles * rows;
        head = block / tiles % a.heads_q;
        batch = block / tiles / a.heads_q;
    }
    // Keys that a query sees: all, or up to its own place, counted from both sequences' ends.
    __device__ int keys(const AttentionArgs& a, int query) const {
        const int beyond = a.window_right < 0 ? a.seqlen_k : a.seqlen_k - a.seqlen_q + 1;
        return min(a.seqlen_k, max(0, query + beyond));
    }
    // Of the tile's last query, which sees most.
    __device__ int most_keys(const AttentionArgs& a, int rows) const {
        return keys(a, min(first + rows, a.seqlen_q) - 1);
    }
    // Token `at` of this head.
    template <class T>
    __device__ T* token(const TensorArg& t, int at) const {
        return static_cast<T*>(t.data) + batch * t.batch_stride + at * t.seq_stride +
               head * t.head_stride;
    }
};

// Rows of a tensor into shared memory, sixteen bytes a load and store; zeros after the last of
// `length` rows. All loads come first, and none behind a branch (past the end the last row is read
// again): in flight together.
template <int threads, int headdim, int rows, int width>
__device__ void stage(__half (&tile)[rows][width], const __half* from, std::int64_t stride,
                      int length) {
    constexpr int chunks = headdim / 8;  // of a row
    constexpr int step = threads / chunks;
    const int first = static_cast<int>(threadIdx.x) / chunks;
    const int column = static_cast<int>(threadIdx.x) % chunks * 8;
    uint4 loaded[rows / step];
#pragma unroll
    for (int i = 0; i < rows / step; ++i) {
        const __half* at = from + min(first + i * step, length - 1) * stride + column;
        loaded[i] = *reinterpret_cast<const uint4*>(at);
    }
#pragma unroll
    for (int i = 0; i < rows / step; ++i) {
        *reinterpret_cast<uint4*>(&tile[first + i * step][column]) =
            first + i * step < length ? loaded[i] : uint4{};
    }
}

}  // namespace raceline::kernels::tensor_cores
