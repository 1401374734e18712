// SPDX-License-Identifier: Apache-2.0
// The shortest attention that is one launch: a CTA has one query row and holds all its scores in
// shared memory. Every thread takes keys for the scores and columns for the output; the maximum and
// the sum of the row are left to one thread.
#include <cmath>
#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <string>

#include "ladder/minimal/tile.hpp"
#include "raceline/error.hpp"

namespace raceline::kernels::minimal {

extern __shared__ float4 dynamic_shared[];

namespace {

__device__ float to_float(float x) {
    return x;
}
__device__ float to_float(__half x) {
    return __half2float(x);
}
__device__ void store(float* to, float x) {
    *to = x;
}
__device__ void store(__half* to, float x) {
    *to = __float2half_rn(x);
}

// The query row of this CTA.
struct Row {
    int query, head, batch;
    int keys;  // it sees these: all, or up to its own place, counted from both sequences' ends

    __device__ Row(const AttentionArgs& a, int row)
        : query(row % a.seqlen_q),
          head(row / a.seqlen_q % a.heads_q),
          batch(row / a.seqlen_q / a.heads_q),
          keys(a.window_right < 0 ? a.seqlen_k
                                  : min(a.seqlen_k, max(0, query + 1 + a.seqlen_k - a.seqlen_q))) {}

    // Token `at` of this row's batch and head.
    template <class T>
    __device__ T* token(const TensorArg& t, int at) const {
        return static_cast<T*>(t.data) + batch * t.batch_stride + at * t.seq_stride +
               head * t.head_stride;
    }
};

template <int threads, int headdim, class T>
__global__ void __launch_bounds__(threads) forward(const __grid_constant__ AttentionArgs a) {
    __shared__ float highest;
    __shared__ float sum;
    float* q = reinterpret_cast<float*>(dynamic_shared);
    float* scores = q + headdim;
    const Row row(a, static_cast<int>(blockIdx.x));
    const int me = static_cast<int>(threadIdx.x);
    for (int d = me; d < headdim; d += threads) {
        q[d] = to_float(row.token<T>(a.q, row.query)[d]);
    }
    __syncthreads();

    for (int key = me; key < row.keys; key += threads) {
        const T* k = row.token<T>(a.k, key);
        float score = 0;
#pragma unroll 16
        for (int d = 0; d < headdim; ++d) {
            score = fmaf(q[d], to_float(k[d]), score);
        }
        scores[key] = score * a.scale;
    }
    __syncthreads();

    if (me == 0) {
        float most = -INFINITY;
        for (int key = 0; key < row.keys; ++key) {
            most = fmaxf(most, scores[key]);
        }
        highest = most;
    }
    __syncthreads();
    for (int key = me; key < row.keys; key += threads) {
        scores[key] = expf(scores[key] - highest);
    }
    __syncthreads();
    if (me == 0) {
        float total = 0;
        for (int key = 0; key < row.keys; ++key) {
            total += scores[key];
        }
        sum = total;
        if (a.lse != nullptr) {
            a.lse[row.batch * a.lse_batch_stride + row.query * a.lse_seq_stride +
                  row.head * a.lse_head_stride] = row.keys > 0 ? highest + logf(total) : -INFINITY;
        }
    }
    __syncthreads();

    for (int column = me; column < headdim; column += threads) {
        float out = 0;
        for (int key = 0; key < row.keys; ++key) {
            out = fmaf(scores[key], to_float(row.token<T>(a.v, key)[column]), out);
        }
        store(row.token<T>(a.out, row.query) + column, row.keys > 0 ? out / sum : 0);
    }
}

void check(const char* what, cudaError_t status) {
    if (status != cudaSuccess) {
        throw Error(Status::internal, std::string("minimal: ") + what +
                                          " failed: " + cudaGetErrorName(status) + " (" +
                                          cudaGetErrorString(status) + ")");
    }
}

template <int threads, int headdim, class T>
void launch_one(const AttentionArgs& a, cudaStream_t stream) {
    const unsigned rows = static_cast<unsigned>(a.batch * a.heads_q * a.seqlen_q);
    const auto bytes = static_cast<int>(shared_bytes(headdim, a.seqlen_k));
    if (rows == 0) {
        return;
    }
    check("asking for more than 48 KiB of shared memory",
          cudaFuncSetAttribute(reinterpret_cast<const void*>(forward<threads, headdim, T>),
                               cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    forward<threads, headdim, T><<<rows, threads, bytes, stream>>>(a);
    check("the launch", cudaGetLastError());
}

template <int threads>
void launch_tile(const AttentionArgs& a, cudaStream_t stream) {
    const bool half = a.dtype == DType::fp16;
    if (a.headdim == 64) {
        half ? launch_one<threads, 64, __half>(a, stream)
             : launch_one<threads, 64, float>(a, stream);
    } else {
        half ? launch_one<threads, 128, __half>(a, stream)
             : launch_one<threads, 128, float>(a, stream);
    }
}

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device&, void*, void* stream) {
    const auto s = static_cast<cudaStream_t>(stream);
    if (tiles.at(static_cast<std::size_t>(tile)).threads == 128) {
        launch_tile<128>(args, s);
    } else {
        launch_tile<256>(args, s);
    }
}

}  // namespace raceline::kernels::minimal
