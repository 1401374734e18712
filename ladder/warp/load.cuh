// SPDX-License-Identifier: Apache-2.0
// Who reads what: the tile of rows that a CTA has, and the way of a tensor into shared memory.
#pragma once

#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "ladder/warp/tile.hpp"

namespace raceline::kernels::warp {

__device__ void store(float* to, float x) {
    *to = x;
}
__device__ void store(__half* to, float x) {
    *to = __float2half_rn(x);
}

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

// What one load brings, as floats: an element, or sixteen bytes of them.
__device__ void unpack(float* to, float raw, float /*of its type*/) {
    *to = raw;
}
__device__ void unpack(float* to, __half raw, __half /*of its type*/) {
    *to = __half2float(raw);
}
__device__ void unpack(float* to, uint4 raw, float /*of its type*/) {
    *reinterpret_cast<uint4*>(to) = raw;
}
__device__ void unpack(float* to, uint4 raw, __half /*of its type*/) {
    const auto* pairs = reinterpret_cast<const __half2*>(&raw);
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        const float2 left = __half22float2(pairs[i]);
        const float2 right = __half22float2(pairs[i + 1]);
        *reinterpret_cast<float4*>(to + 2 * i) = {left.x, left.y, right.x, right.y};
    }
}

// Rows of a tensor into shared memory, as floats; zeros after the last of `length` rows. All loads
// come first, and none behind a branch (past the end the last row is read again): in flight
// together.
template <class Load, int headdim, class T, int rows, int width>
__device__ void stage(float (&tile)[rows][width], const T* from, std::int64_t stride, int length) {
    constexpr int each = sizeof(Load) / sizeof(T);
    constexpr int step = threads * each / headdim;
    const int first = static_cast<int>(threadIdx.x) / (headdim / each);
    const int column = static_cast<int>(threadIdx.x) % (headdim / each) * each;
    Load loaded[rows / step];
#pragma unroll
    for (int i = 0; i < rows / step; ++i) {
        const T* at = from + min(first + i * step, length - 1) * stride + column;
        loaded[i] = *reinterpret_cast<const Load*>(at);
    }
#pragma unroll
    for (int i = 0; i < rows / step; ++i) {
        unpack(&tile[first + i * step][column], first + i * step < length ? loaded[i] : Load{},
               T{});
    }
}

}  // namespace raceline::kernels::warp
