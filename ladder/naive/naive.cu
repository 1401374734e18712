// SPDX-License-Identifier: Apache-2.0
// Attention as the textbook writes it: S = Q K^T, P = softmax(S), O = P V, one launch each, with
// the whole matrix S in global memory between them. Every product reads its operands from global
// memory; nothing is shared between threads on purpose.
#include <cmath>
#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <string>

#include "ladder/naive/tile.hpp"
#include "raceline/error.hpp"

namespace raceline::kernels::naive {
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

// One query of one head: what a row of S belongs to.
struct Row {
    int query, head, batch;
    int keys;  // it sees these: all, or up to its own place, counted from both sequences' ends

    __device__ Row(const AttentionArgs& a, std::int64_t row)
        : query(static_cast<int>(row % a.seqlen_q)),
          head(static_cast<int>(row / a.seqlen_q % a.heads_q)),
          batch(static_cast<int>(row / a.seqlen_q / a.heads_q)),
          keys(a.window_right < 0 ? a.seqlen_k
                                  : min(a.seqlen_k, max(0, query + 1 + a.seqlen_k - a.seqlen_q))) {}

    // Token `at` of this row's batch and head.
    template <class T>
    __device__ T* token(const TensorArg& t, int at) const {
        return static_cast<T*>(t.data) + batch * t.batch_stride + at * t.seq_stride +
               head * t.head_stride;
    }
};

__host__ __device__ std::int64_t row_count(const AttentionArgs& a) {
    return std::int64_t{a.batch} * a.heads_q * a.seqlen_q;
}

// One thread a score. Grid: x over keys, then y and z over every (batch, head, query).
template <class T>
__global__ void scores(const __grid_constant__ AttentionArgs a, float* s) {
    const int key = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    const std::int64_t row = blockIdx.y + std::int64_t{blockIdx.z} * gridDim.y;
    if (row >= row_count(a)) {
        return;
    }
    const Row at(a, row);
    if (key >= at.keys) {
        return;  // neither computed nor read later
    }
    const T* q = at.token<T>(a.q, at.query);
    const T* k = at.token<T>(a.k, key);
    float sum = 0;
    for (int d = 0; d < a.headdim; ++d) {
        sum = fmaf(to_float(q[d]), to_float(k[d]), sum);
    }
    s[row * a.seqlen_k + key] = sum * a.scale;
}

template <class Combine>
__device__ float over_warp(float x, Combine combine) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        x = combine(x, __shfl_xor_sync(0xFFFFFFFFU, x, lanes));
    }
    return x;
}

// One warp a row: maximum, exponentials and their sum, division. Three sweeps over the row.
__global__ void softmax(const __grid_constant__ AttentionArgs a, float* s) {
    const std::int64_t row = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
    if (row >= row_count(a)) {
        return;  // the whole warp leaves together
    }
    const int lane = static_cast<int>(threadIdx.x % 32);
    const Row at(a, row);
    float* line = s + row * a.seqlen_k;

    float highest = -INFINITY;
    for (int key = lane; key < at.keys; key += 32) {
        highest = fmaxf(highest, line[key]);
    }
    highest = over_warp(highest, [](float x, float y) { return fmaxf(x, y); });
    float sum = 0;
    for (int key = lane; key < at.keys; key += 32) {
        const float x = expf(line[key] - highest);
        line[key] = x;
        sum += x;
    }
    sum = over_warp(sum, [](float x, float y) { return x + y; });
    for (int key = lane; key < at.keys; key += 32) {
        line[key] /= sum;
    }
    if (lane == 0 && a.lse != nullptr) {
        a.lse[at.batch * a.lse_batch_stride + at.query * a.lse_seq_stride +
              at.head * a.lse_head_stride] = at.keys > 0 ? highest + logf(sum) : -INFINITY;
    }
}

// One thread an output element; neighbouring threads read neighbouring elements of V.
template <class T>
__global__ void outputs(const __grid_constant__ AttentionArgs a, const float* s) {
    const std::int64_t element = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    const std::int64_t row = element / a.headdim_v;
    if (row >= row_count(a)) {
        return;
    }
    const int column = static_cast<int>(element % a.headdim_v);
    const Row at(a, row);
    const float* line = s + row * a.seqlen_k;
    float sum = 0;
    for (int key = 0; key < at.keys; ++key) {
        sum = fmaf(line[key], to_float(at.token<T>(a.v, key)[column]), sum);
    }
    store(at.token<T>(a.out, at.query) + column, sum);
}

unsigned blocks(std::int64_t items, std::int64_t each) {
    return static_cast<unsigned>((items + each - 1) / each);
}

void check(const char* what) {
    const cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess) {
        throw Error(Status::internal, std::string("naive: the launch of ") + what +
                                          " failed: " + cudaGetErrorName(status) + " (" +
                                          cudaGetErrorString(status) + ")");
    }
}

template <class T>
void launch_three(const AttentionArgs& a, unsigned threads, float* s, cudaStream_t stream) {
    const std::int64_t rows = row_count(a);
    if (rows == 0) {
        return;
    }
    if (a.seqlen_k > 0) {
        constexpr std::int64_t most = 65535;  // of a grid's y and z
        const dim3 grid(blocks(a.seqlen_k, threads),
                        static_cast<unsigned>(rows < most ? rows : most), blocks(rows, most));
        scores<T><<<grid, threads, 0, stream>>>(a, s);
        check("the scores");
    }
    softmax<<<blocks(rows * 32, threads), threads, 0, stream>>>(a, s);
    check("the softmax");
    outputs<T><<<blocks(rows * a.headdim_v, threads), threads, 0, stream>>>(a, s);
    check("the outputs");
}

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device&, void* workspace, void* stream) {
    const auto threads = static_cast<unsigned>(tiles.at(static_cast<std::size_t>(tile)).threads);
    auto* s = static_cast<float*>(workspace);
    if (args.dtype == DType::fp16) {
        launch_three<__half>(args, threads, s, static_cast<cudaStream_t>(stream));
    } else {
        launch_three<float>(args, threads, s, static_cast<cudaStream_t>(stream));
    }
}

}  // namespace raceline::kernels::naive
