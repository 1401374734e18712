// SPDX-License-Identifier: Apache-2.0
// What a launch, a CTA and a single access cost; and the table of all kernels.
#include <cuda_runtime.h>

#include "gpu/ptx/ld_global.cuh"
#include "gpu/ptx/special_register.cuh"
#include "probe/gpu.hpp"
#include "probe/gpu_span.cuh"
#include "support/cuda_check.cuh"

namespace raceline::probe {
namespace {

__global__ void wait_kernel(std::uint64_t nanoseconds) {
    const std::uint64_t begin = ptx::globaltimer();
    while (ptx::globaltimer() - begin < nanoseconds) {
    }
}

__global__ void empty_kernel() {}

// One word written keeps the shared memory from being optimised away; the barrier stands for the
// set-up that every kernel with stages does.
__global__ void cta_kernel() {
    extern __shared__ std::uint32_t shared[];
    if (threadIdx.x == 0) {
        *static_cast<volatile std::uint32_t*>(shared) = blockIdx.x;
    }
    __syncthreads();
}

__global__ void link_kernel(std::byte* nodes, const std::uint32_t* order, std::uint32_t count,
                            std::uint32_t stride) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        auto* node = reinterpret_cast<std::uint32_t*>(nodes + std::size_t{i} * stride);
        *node = order[i] * stride;
    }
}

// Each load's address is the value of the one before. Offsets fit 32 bits.
__global__ void chase_kernel(const std::byte* nodes, std::uint32_t* at, int steps, GpuSpan* span) {
    const SpanReader reader;
    std::uint32_t offset = *at;
#pragma unroll 16
    for (int step = 0; step < steps; ++step) {
        offset = ptx::ld_global_cg_u32(nodes + offset);
    }
    *at = offset;
    reader.end(span);
}

void wait(int microseconds, void* stream) {
    wait_kernel<<<1, 1, 0, as_stream(stream)>>>(static_cast<std::uint64_t>(microseconds) * 1000);
}

void empty(void* stream) {
    empty_kernel<<<1, 32, 0, as_stream(stream)>>>();
}

void ctas(int count, int threads, int shared_bytes, void* stream) {
    check_cuda(
        cudaFuncSetAttribute(cta_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
        "the CTA probe: asking for " + std::to_string(shared_bytes) + " bytes of shared memory");
    cta_kernel<<<count, threads, shared_bytes, as_stream(stream)>>>();
}

void link(void* nodes, const std::uint32_t* order, std::uint32_t count, std::uint32_t stride,
          void* stream) {
    link_kernel<<<(count + 255) / 256, 256, 0, as_stream(stream)>>>(static_cast<std::byte*>(nodes),
                                                                    order, count, stride);
}

void chase(const void* nodes, std::uint32_t* at, int steps, GpuSpan* span, void* stream) {
    chase_kernel<<<1, 1, 0, as_stream(stream)>>>(static_cast<const std::byte*>(nodes), at, steps,
                                                 span);
}

}  // namespace

const GpuKernels& gpu_kernels() {
    static const GpuKernels table = [] {
        GpuKernels all{};
        add_memory_kernels(all);
        add_bulk_kernels(all);
        add_l2_kernels(all);
        add_arithmetic_kernels(all);
        add_mma_kernels(all);
        add_wgmma_kernels(all);
        all.wait = wait;
        all.empty = empty;
        all.ctas = ctas;
        all.link = link;
        all.chase = chase;
        return all;
    }();
    return table;
}

}  // namespace raceline::probe
