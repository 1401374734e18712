// SPDX-License-Identifier: Apache-2.0
// Attention as the textbook writes it: S = Q K^T, P = softmax(S), O = P V, one launch each, with
// the whole matrix S in global memory between them. Every product reads its operands from global
// memory; nothing is shared between threads on purpose.
#include "gpu/tile/row_tile.cuh"
#include "ladder/prefill/naive/softmax.cuh"
#include "ladder/prefill/naive/tile.hpp"
#include "ladder/tracks/launch.cuh"

namespace raceline::kernels::naive {
using namespace gpu;
using namespace tracks;

namespace {

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
    const QueryRow at(a, row);
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

// One warp a row: maximum, exponentials and their sum, division. Three sweeps over the row.
__global__ void softmax(const __grid_constant__ AttentionArgs a, float* s) {
    const std::int64_t row = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
    if (row >= row_count(a)) {
        return;  // the whole warp leaves together
    }
    const int lane = static_cast<int>(threadIdx.x % 32);
    const QueryRow at(a, row);
    const Totals totals = softmax_row(s + row * a.seqlen_k, at.keys, lane);
    if (lane == 0 && a.lse != nullptr) {
        at.lse(a, at.query) = at.keys > 0 ? totals.highest + logf(totals.sum) : -INFINITY;
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
    const QueryRow at(a, row);
    const float* line = s + row * a.seqlen_k;
    float sum = 0;
    for (int key = 0; key < at.keys; ++key) {
        sum = fmaf(line[key], to_float(at.token<T>(a.v, key)[column]), sum);
    }
    store(at.token<T>(a.out, at.query) + column, sum);
}

}  // namespace

void launch(const AttentionArgs& a, int tile, const Device&, void* workspace, void* stream) {
    const int threads = tiles.at(static_cast<std::size_t>(tile)).threads;
    const std::int64_t rows = row_count(a);
    auto* s = static_cast<float*>(workspace);
    if (rows == 0) {
        return;
    }
    const bool half = a.dtype == DType::fp16;
    if (a.seqlen_k > 0) {
        constexpr std::int64_t most = 65535;  // of a grid's y and z
        const dim3 grid(blocks(a.seqlen_k, threads),
                        static_cast<unsigned>(rows < most ? rows : most), blocks(rows, most));
        enqueue("naive: the scores", half ? scores<__half> : scores<float>,
                {grid, threads, 0, stream}, a, s);
    }
    enqueue("naive: the softmax", softmax, {blocks(rows * 32, threads), threads, 0, stream}, a, s);
    enqueue("naive: the outputs", half ? outputs<__half> : outputs<float>,
            {blocks(rows * a.headdim_v, threads), threads, 0, stream}, a, s);
}

}  // namespace raceline::kernels::naive
