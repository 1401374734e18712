// SPDX-License-Identifier: Apache-2.0
// A CTA goes over a row once. Each thread keeps the largest logit it has met and the sum of
// exponentials relative to it; the CTA then brings these together.
#include <cstdint>

#include "gpu/ptx/approx_ftz_f32.cuh"
#include "gpu/tile/base_two.cuh"
#include "gpu/tile/chunk.cuh"
#include "kernels/crossentropy_cuda/tile.hpp"
#include "registry/enqueue.cuh"

namespace raceline::kernels::crossentropy_cuda {
namespace {

struct Params {
    const char* logits;
    const std::int32_t* targets;
    float* loss;
    float* lse;
    std::int64_t rows, width;
};

constexpr unsigned all_lanes = 0xFFFFFFFFU;

/// Sum of exponentials of some logits, relative to the largest of them. NaN goes through.
struct Exponentials {
    float largest, sum;

    __device__ __forceinline__ void add(const Exponentials& other) {
        const float both = fmaxf(largest, other.largest);
        if (both != -INFINITY) {
            sum = sum * ptx::ex2_approx_ftz_f32((largest - both) * log2_e) +
                  other.sum * ptx::ex2_approx_ftz_f32((other.largest - both) * log2_e);
        } else {
            sum += other.sum;
        }
        largest = both;
    }
    __device__ __forceinline__ void add_lanes(int from) {
        for (int apart = from; apart > 0; apart /= 2) {
            add({__shfl_xor_sync(all_lanes, largest, apart),
                 __shfl_xor_sync(all_lanes, sum, apart)});
        }
    }
};

/// e^(x - highest), as rounding of the result asks for it. Of the highest itself it is exactly 1.
template <DType type>
__device__ __forceinline__ float term_of(float x, float highest) {
    return type == DType::fp32 ? expf(x - highest)
                               : ptx::ex2_approx_ftz_f32((x - highest) * log2_e);
}

/// Elements of a chunk that belong to the row.
struct There {
    int first, end;
};

/// `whole`: all of its elements are there.
template <DType type, bool whole>
__device__ __forceinline__ void add_chunk(uint4 raw, There there, Exponentials& to) {
    constexpr int per_chunk = gpu::chunk_of<type>;
    float x[per_chunk];
    gpu::widen<type>(raw, x);
    float highest = to.largest;
#pragma unroll
    for (int e = 0; e < per_chunk; ++e) {
        const bool counts = whole || (e >= there.first && e < there.end);
        highest = counts ? fmaxf(highest, x[e]) : highest;
    }
    // Nothing but -inf so far: -inf less itself would be NaN, and less 0 it adds nothing.
    const float from = highest == -INFINITY ? 0.0F : highest;
    if (highest != to.largest) {
        to.sum *= ptx::ex2_approx_ftz_f32((to.largest - highest) * log2_e);
        to.largest = highest;
    }
    float sums[2] = {0, 0};
#pragma unroll
    for (int e = 0; e < per_chunk; ++e) {
        const float term = term_of<type>(x[e], from);
        const bool counts = whole || (e >= there.first && e < there.end);
        sums[e % 2] += counts ? term : 0.0F;
    }
    to.sum += sums[0] + sums[1];
}

template <DType type, int at_once>
__global__ void __launch_bounds__(most_threads, resident_threads / most_threads)
    crossentropy(const __grid_constant__ Params p) {
    constexpr int per_chunk = gpu::chunk_of<type>;
    __shared__ float largest[32];
    __shared__ float sums[32];
    const std::int64_t row = blockIdx.x;
    const char* const begin = p.logits + row * p.width * gpu::width_of<type>;
    // Chunks lie at multiples of 16 bytes, wherever the row begins: only its first and its last may
    // hold what is not of the row, and are read element by element.
    const int before =
        static_cast<int>(reinterpret_cast<std::uintptr_t>(begin) % 16) / gpu::width_of<type>;
    const char* const from = begin - before * gpu::width_of<type>;
    const std::int64_t end = before + p.width;
    const auto chunks = static_cast<int>((end + per_chunk - 1) / per_chunk);
    const auto whole = [&](int chunk) {
        return (before == 0 || chunk > 0) && (chunk + std::int64_t{1}) * per_chunk <= end;
    };
    const int threads = static_cast<int>(blockDim.x);
    Exponentials mine{-INFINITY, 0};
    for (int first = static_cast<int>(threadIdx.x); first < chunks; first += threads * at_once) {
        uint4 raw[at_once];
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
            const int chunk = first + i * threads;
            raw[i] = chunk < chunks ? gpu::load_chunk<type>(from, chunk, end, whole(chunk), before)
                                    : make_uint4(0, 0, 0, 0);
        }
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
            const int chunk = first + i * threads;
            if (whole(chunk)) {
                add_chunk<type, true>(raw[i], {0, per_chunk}, mine);
            } else if (chunk < chunks) {
                const auto left = static_cast<int>(end - chunk * std::int64_t{per_chunk});
                add_chunk<type, false>(raw[i], {chunk == 0 ? before : 0, left}, mine);
            }
        }
    }
    mine.add_lanes(16);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warps = threads / 32;
    if (lane == 0) {
        largest[threadIdx.x / 32] = mine.largest;
        sums[threadIdx.x / 32] = mine.sum;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        mine = {largest[lane % warps], sums[lane % warps]};
        mine.add_lanes(warps / 2);
        if (lane == 0) {
            const std::int32_t target = p.targets[row];
            const float logit = gpu::load_element<type>(begin, target);
            const float lse = mine.largest + log2f(mine.sum) * ln_2;
            p.lse[row] = lse;
            p.loss[row] = lse - logit;
        }
    }
}

template <DType type>
void launch_type(const Params& p, const Tile& tile, void* stream) {
    const LaunchShape shape{dim3(static_cast<unsigned>(p.rows)), tile.threads, 0, stream};
    enqueue("crossentropy_cuda", tile.at_once == 2 ? crossentropy<type, 2> : crossentropy<type, 4>,
            shape, p);
}

}  // namespace

void launch(const OperationArgs& args, int tile, const Device& /*device*/, void* /*workspace*/,
            void* stream) {
    const Tile& its = tile_list.at(static_cast<std::size_t>(tile));
    const Params p{static_cast<const char*>(args.tensors[0].data),
                   static_cast<const std::int32_t*>(args.tensors[1].data),
                   static_cast<float*>(args.tensors[2].data),
                   static_cast<float*>(args.tensors[3].data),
                   args.extents[0],
                   args.extents[1]};
    switch (args.dtype) {
        case DType::fp16: launch_type<DType::fp16>(p, its, stream); break;
        case DType::bf16: launch_type<DType::bf16>(p, its, stream); break;
        default: launch_type<DType::fp32>(p, its, stream); break;
    }
}

}  // namespace raceline::kernels::crossentropy_cuda
