// SPDX-License-Identifier: Apache-2.0
// A CTA, or a warp of narrow rows, goes over a row once. Each thread keeps the largest logit it has
// met and the sum of exponentials relative to it; the threads then bring these together.
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

/// e^(x - from), as rounding of the result asks for it. Of `from` itself it is exactly 1.
template <DType type>
__device__ __forceinline__ float term_of(float x, float from) {
    return type == DType::fp32 ? expf(x - from) : ptx::ex2_approx_ftz_f32((x - from) * log2_e);
}

/// What a thread has met.
template <DType type>
struct Terms {
    Exponentials all{-INFINITY, 0};

    /// Logits of which all count.
    template <int count>
    __device__ __forceinline__ void add(const float (&x)[count]) {
        constexpr int ways =
            count < 4 ? 1 : 4;  // so that sums and maxima do not wait for each other
        float highest[ways], sums[ways];
#pragma unroll
        for (int i = 0; i < ways; ++i) {
            highest[i] = all.largest;
            sums[i] = 0;
        }
#pragma unroll
        for (int e = 0; e < count; ++e) {
            highest[e % ways] = fmaxf(highest[e % ways], x[e]);
        }
        float largest = highest[0];
#pragma unroll
        for (int i = 1; i < ways; ++i) {
            largest = fmaxf(largest, highest[i]);
        }
        // Nothing but -inf so far: -inf less itself would be NaN, and less 0 it adds nothing.
        const float from = largest == -INFINITY ? 0.0F : largest;
        if (largest != all.largest) {
            all.sum *= ptx::ex2_approx_ftz_f32((all.largest - largest) * log2_e);
            all.largest = largest;
        }
#pragma unroll
        for (int e = 0; e < count; ++e) {
            sums[e % ways] += term_of<type>(x[e], from);
        }
#pragma unroll
        for (int i = 0; i < ways; ++i) {
            all.sum += sums[i];
        }
    }
};

template <DType type>
__device__ __forceinline__ void widen_to(uint4 raw, float* to) {
    float x[gpu::chunk_of<type>];
    gpu::widen<type>(raw, x);
#pragma unroll
    for (int e = 0; e < gpu::chunk_of<type>; ++e) {
        to[e] = x[e];
    }
}

/// What all threads of a CTA have met, in the first lane of its first warp.
__device__ __forceinline__ Exponentials over_cta(Exponentials all) {
    __shared__ float largest[32];
    __shared__ float sums[32];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warps = static_cast<int>(blockDim.x) / 32;
    if (lane == 0) {
        largest[threadIdx.x / 32] = all.largest;
        sums[threadIdx.x / 32] = all.sum;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        all = {largest[lane % warps], sums[lane % warps]};
        all.add_lanes(warps / 2);
    }
    return all;
}

template <DType type, int at_once, bool by_warps>
__global__ void __launch_bounds__(most_threads, resident_threads / most_threads)
    crossentropy(const __grid_constant__ Params p) {
    constexpr int per_chunk = gpu::chunk_of<type>;
    const int threads = by_warps ? 32 : static_cast<int>(blockDim.x);
    const int thread = static_cast<int>(threadIdx.x) % threads;
    const std::int64_t row =
        by_warps ? std::int64_t{blockIdx.x} * (threads_of_cta(32) / 32) + threadIdx.x / 32
                 : std::int64_t{blockIdx.x};
    if (by_warps && row >= p.rows) {
        return;
    }
    const bool writes = thread == 0;
    const std::int32_t target = writes ? __ldg(p.targets + row) : 0;
    const char* const begin = p.logits + row * p.width * gpu::width_of<type>;
    // Chunks lie at multiples of 16 bytes, wherever the row begins. What stands before the first
    // and behind the last whole one, fewer elements than a warp has lanes, takes the last warp.
    const int past =
        static_cast<int>(reinterpret_cast<std::uintptr_t>(begin) % 16) / gpu::width_of<type>;
    const int head = static_cast<int>(min(std::int64_t{past == 0 ? 0 : per_chunk - past}, p.width));
    const auto chunks = static_cast<int>((p.width - head) / per_chunk);
    const auto* const from = reinterpret_cast<const uint4*>(
        begin + static_cast<std::int64_t>(head) * gpu::width_of<type>);
    Terms<type> mine;
    int chunk = thread;
    uint4 raw[at_once];
    for (; chunk + (at_once - 1) * threads < chunks; chunk += threads * at_once) {
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
            raw[i] = __ldg(from + chunk + i * threads);
        }
        float x[at_once * per_chunk];
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
            widen_to<type>(raw[i], x + i * per_chunk);
        }
        mine.add(x);
    }
    // The last turn of a thread: up to at_once - 1 chunks are left to it.
#pragma unroll
    for (int i = 0; i < at_once - 1; ++i) {
        if (chunk + i * threads < chunks) {
            raw[i] = __ldg(from + chunk + i * threads);
        }
    }
#pragma unroll
    for (int i = 0; i < at_once - 1; ++i) {
        if (chunk + i * threads < chunks) {
            float x[per_chunk];
            gpu::widen<type>(raw[i], x);
            mine.add(x);
        }
    }
    const int lane = thread % 32;
    if (thread >= threads - 32) {
        const std::int64_t behind = head + static_cast<std::int64_t>(chunks) * per_chunk;
        const std::int64_t element = lane < head ? lane : behind + lane - head;
        if (element < p.width) {
            const float x[1] = {gpu::load_element<type>(begin, element)};
            mine.add(x);
        }
    }
    Exponentials all = mine.all;
    all.add_lanes(16);
    if constexpr (!by_warps) {
        all = over_cta(all);
    }
    if (writes) {
        const float logit = gpu::load_element<type>(begin, target);
        const float lse = all.largest + log2f(all.sum) * ln_2;
        p.lse[row] = lse;
        p.loss[row] = lse - logit;
    }
}

template <DType type, int at_once>
auto code_of(const Tile& tile) {
    return tile.threads == 32 ? crossentropy<type, at_once, true>
                              : crossentropy<type, at_once, false>;
}

template <DType type>
void launch_type(const Params& p, const Tile& tile, void* stream) {
    const LaunchShape shape{dim3(static_cast<unsigned>(ctas_of(p.rows, tile))),
                            threads_of_cta(tile.threads), 0, stream};
    enqueue("crossentropy_cuda",
            tile.at_once == 2 ? code_of<type, 2>(tile) : code_of<type, 4>(tile), shape, p);
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
    with_dtype(args.dtype, [&](auto type) { launch_type<type()>(p, its, stream); });
}

}  // namespace raceline::kernels::crossentropy_cuda
