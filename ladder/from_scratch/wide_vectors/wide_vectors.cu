// SPDX-License-Identifier: Apache-2.0
// `tensor_cores` with 256 threads and sixteen bytes to every load and store of the softmax and the
// output. To store eight probabilities at once, a lane has eight neighbouring scores: two loads of
// four, which every other group of four rows takes in the other order, so that eight rows never ask
// one bank for different words.
#include "ladder/from_scratch/tensor_cores/forward.cuh"
#include "ladder/from_scratch/wide_vectors/tile.hpp"

namespace raceline::kernels::wide_vectors {
namespace {

using gpu::four;

struct Eight {
    float4 low, high;
};
__device__ void mask(Eight& x, float scale, int left) {
    gpu::mask(x.low, scale, left);
    gpu::mask(x.high, scale, left - 4);
}
__device__ float highest_of(Eight x) {
    return fmaxf(gpu::highest_of(x.low), gpu::highest_of(x.high));
}
__device__ Eight exponentials(Eight x, float highest) {
    return {gpu::exponentials(x.low, highest), gpu::exponentials(x.high, highest)};
}
__device__ float sum_of(Eight x, float sum) {
    return gpu::sum_of(x.high, gpu::sum_of(x.low, sum));
}
__device__ unsigned pair(float x, float y) {
    const __half2 both = __floats2half2_rn(x, y);
    return reinterpret_cast<const unsigned&>(both);
}
__device__ uint4 halves(Eight x) {
    return {pair(x.low.x, x.low.y), pair(x.low.z, x.low.w), pair(x.high.x, x.high.y),
            pair(x.high.z, x.high.w)};
}

// Of a row, two lanes have every other eight columns each.
struct Eights {
    static constexpr int width = 8;
    static constexpr int partner = 16;
    using Group = Eight;
    int row = static_cast<int>(threadIdx.x % 16);
    int part = static_cast<int>(threadIdx.x % 32 / 16);
    bool swap = row / 4 % 2 != 0;  // every other group of four rows

    __device__ Eight load(float* at) const {
        const float4 first = four(at + (swap ? 4 : 0));
        const float4 second = four(at + (swap ? 0 : 4));
        return swap ? Eight{second, first} : Eight{first, second};
    }
    __device__ void store_p(__half* at, Eight x) const {
        *reinterpret_cast<uint4*>(at) = halves(x);
    }
    template <int width_f>
    __device__ void spread(float (&factors)[side][width_f], float factor) const {
        const int second = row / 4 % 2 * 4;
        four(&factors[row][8 * part + second]) = {factor, factor, factor, factor};
        four(&factors[row][8 * part + 4 - second]) = {factor, factor, factor, factor};
    }
};

template <int columns, int width_s>
__device__ void store_rows(const Eights& lanes, gpu::Accumulator (&outputs)[columns],
                           float (&s)[side][width_s], const AttentionArgs& a, const gpu::Head& at,
                           int query) {
#pragma unroll
    for (int c = 0; c < columns; ++c) {
        __syncwarp();  // the columns before have been read by all
        gpu::mma::store_matrix_sync(&s[0][0], outputs[c], width_s, gpu::mma::mem_row_major);
        __syncwarp();
        if (query < a.seqlen_q) {
            // By name: left to itself the compiler splits the first of these stores in four.
            __half* to = at.token<__half>(a.out, query) + c * side + 8 * lanes.part;
            __stwb(reinterpret_cast<uint4*>(to), halves(lanes.load(&s[lanes.row][8 * lanes.part])));
        }
    }
}

template <int index, int headdim>
__global__ void __launch_bounds__(gpu::wmma_threads(tiles[index].rows))
    forward(const __grid_constant__ AttentionArgs a) {
    attend<tiles[index].rows, headdim, Eights>(a);
}

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device&, void*, void* stream) {
    check_aligned("wide_vectors", args,
                  {{"q", &args.q}, {"k", &args.k}, {"v", &args.v}, {"out", &args.out}});
    launch_rows<tiles, Shared>(
        "wide_vectors", args, tile, stream, [](auto index, auto headdim, auto) {
            return RowsCode{forward<index, headdim>, gpu::wmma_threads(tiles[index].rows)};
        });
}

}  // namespace raceline::kernels::wide_vectors
