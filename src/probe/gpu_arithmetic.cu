// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include "gpu/ptx/approx_ftz_f32.cuh"
#include "gpu/ptx/ld_shared_v4_u32.cuh"
#include "probe/gpu.hpp"
#include "probe/gpu_span.cuh"

namespace raceline::probe {
namespace {

constexpr int steps_per_round = 64;  // long enough that the loop's own instructions do not count

// Chains that do not wait for each other: each begins at `start` of a number of its own, and goes
// through `step`.
template <int chains, class Start, class Step>
__device__ __forceinline__ void run_chains(int rounds, GpuSpan* span, const Start& start,
                                           const Step& step) {
    const SpanReader reader;
    float x[chains];
#pragma unroll
    for (int c = 0; c < chains; ++c) {
        x[c] = start(1e-3F * static_cast<float>(threadIdx.x + c));
    }
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int i = 0; i < steps_per_round; ++i) {
#pragma unroll
            for (int c = 0; c < chains; ++c) {
                x[c] = step(x[c]);
            }
        }
    }
    reader.end(span);
    float total = 0;
#pragma unroll
    for (int c = 0; c < chains; ++c) {
        total += x[c];
    }
    keep(__float_as_uint(total), span);
}

// x -> x * factor + term with its fixed point near 1: never a denormal, never infinite.
template <int chains>
__global__ void __launch_bounds__(1024)
    fma_kernel(int rounds, float factor, float term, GpuSpan* span) {
    run_chains<chains>(
        rounds, span, [](float own) { return 1.0F + own; },
        [&](float x) { return __fmaf_rn(x, factor, term); });
}

// x -> 2^-x settles at 0.64; the sign is a modifier of the instruction's operand.
template <int chains>
__global__ void __launch_bounds__(1024) ex2_kernel(int rounds, GpuSpan* span) {
    run_chains<chains>(
        rounds, span, [](float own) { return own; },
        [](float x) { return ptx::ex2_approx_ftz_f32(-x); });
}

// Neighbouring threads load neighbouring 16 bytes: four wavefronts of 128 bytes a warp, no bank
// conflict. A warp walks over 16 such runs, so that addresses are immediates.
constexpr int shared_runs = 16;
constexpr int shared_bytes = 32 * 1024;

__global__ void __launch_bounds__(1024) shared_kernel(int rounds, GpuSpan* span) {
    __shared__ uint4 data[shared_bytes / sizeof(uint4)];
    for (unsigned i = threadIdx.x; i < shared_bytes / sizeof(uint4); i += blockDim.x) {
        data[i] = {i, i * 3, i * 5, i * 7};
    }
    const SpanReader reader;
    // Warps start 512 bytes apart, and wrap where 16 runs more would leave the array.
    const unsigned slots = shared_bytes / 512 - shared_runs;
    const unsigned start = (threadIdx.x / 32 % slots) * 512 + threadIdx.x % 32 * 16;
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(data)) + start;
    std::uint32_t sum = 0;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int run = 0; run < shared_runs; ++run) {
            const uint4 v = ptx::ld_shared_v4_u32(address + run * 512);
            sum ^= v.x ^ v.y ^ v.z ^ v.w;
        }
    }
    reader.end(span);
    keep(sum, span);
}

double lanes(const GpuGrid& grid) {
    return static_cast<double>(grid.ctas) * grid.threads;
}

double fma(const GpuGrid& grid, int rounds, GpuSpan* span, void* stream) {
    with_unroll(grid.unroll, [&]<int chains>() {
        fma_kernel<chains>
            <<<grid.ctas, grid.threads, 0, as_stream(stream)>>>(rounds, 0.999F, 0.001F, span);
    });
    return 2 * lanes(grid) * grid.unroll * steps_per_round * rounds;
}

double ex2(const GpuGrid& grid, int rounds, GpuSpan* span, void* stream) {
    with_unroll(grid.unroll, [&]<int chains>() {
        ex2_kernel<chains><<<grid.ctas, grid.threads, 0, as_stream(stream)>>>(rounds, span);
    });
    return lanes(grid) * grid.unroll * steps_per_round * rounds;
}

double shared(const GpuGrid& grid, int rounds, GpuSpan* span, void* stream) {
    shared_kernel<<<grid.ctas, grid.threads, 0, as_stream(stream)>>>(rounds, span);
    return lanes(grid) * sizeof(uint4) * shared_runs * rounds;
}

}  // namespace

void add_arithmetic_kernels(GpuKernels& table) {
    table.fma = fma;
    table.ex2 = ex2;
    table.shared = shared;
}

}  // namespace raceline::probe
