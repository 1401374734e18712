// SPDX-License-Identifier: Apache-2.0
// DRAM through the bulk copy engine: no register and no instruction a vector, one thread a CTA
// keeps as many bytes in flight as shared memory holds.
#include <cuda_runtime.h>

#include "gpu/ptx/cp_async_bulk.cuh"
#include "gpu/ptx/mbarrier.cuh"
#include "probe/gpu.hpp"
#include "probe/gpu_span.cuh"
#include "raceline/error.hpp"
#include "support/cuda_check.cuh"

namespace raceline::probe {
namespace {

constexpr int max_stages = 32;
constexpr int copy_ahead = 4;  // loads, and as many stores, under way in the copy
constexpr int copy_stages = 2 * copy_ahead;

struct Ring {
    std::uint32_t barriers, data;
    int chunk;

    __device__ std::uint32_t barrier(int stage) const { return barriers + stage * 8; }
    __device__ std::uint32_t slot(int stage) const { return data + stage * chunk; }
    __device__ void load(int stage, const std::byte* from) const {
        ptx::mbarrier_arrive_expect_tx(barrier(stage), chunk);
        ptx::cp_async_bulk_shared_global(slot(stage), from, chunk, barrier(stage));
    }
};

// The stages at the front of dynamic shared memory, the barriers in static shared memory.
__device__ Ring make_ring(std::byte* data, std::uint64_t* barriers, int stages, int chunk) {
    const Ring ring{static_cast<std::uint32_t>(__cvta_generic_to_shared(barriers)),
                    static_cast<std::uint32_t>(__cvta_generic_to_shared(data)), chunk};
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < stages; ++stage) {
            ptx::mbarrier_init(ring.barrier(stage), 1);
        }
        ptx::fence_mbarrier_init();
    }
    __syncthreads();
    return ring;
}

// Nobody reads what arrives, so that a stage is free again as soon as it is full.
__global__ void __launch_bounds__(32) read_bulk_kernel(const std::byte* from, std::size_t chunks,
                                                       int chunk, int stages, GpuSpan* span) {
    extern __shared__ __align__(128) std::byte data[];
    __shared__ std::uint64_t barriers[max_stages];
    const Ring ring = make_ring(data, barriers, stages, chunk);
    const SpanReader reader;
    if (threadIdx.x == 0) {
        int stage = 0;
        std::uint32_t parity = 0;
        bool reused = false;
        for (std::size_t c = blockIdx.x; c < chunks; c += gridDim.x) {
            if (reused) {
                ptx::mbarrier_wait_parity(ring.barrier(stage), parity);
            }
            ring.load(stage, from + c * chunk);
            if (++stage == stages) {
                stage = 0;
                parity = reused ? parity ^ 1U : 0U;
                reused = true;
            }
        }
        // The copies must land before the CTA gives its shared memory back. A stage before the
        // current one is a lap ahead of those after it.
        for (int s = 0; s < stages; ++s) {
            if (s < stage) {
                ptx::mbarrier_wait_parity(ring.barrier(s), reused ? parity ^ 1U : 0U);
            } else if (reused) {
                ptx::mbarrier_wait_parity(ring.barrier(s), parity);
            }
        }
    }
    reader.end(span);
}

// Load n + copy_ahead goes into the stage that store n - copy_ahead read: that store and older
// ones must have finished reading, the copy_ahead later ones need not.
__global__ void __launch_bounds__(32)
    copy_bulk_kernel(std::byte* to, const std::byte* from, std::size_t chunks, int chunk,
                     GpuSpan* span) {
    extern __shared__ __align__(128) std::byte data[];
    __shared__ std::uint64_t barriers[copy_stages];
    const Ring ring = make_ring(data, barriers, copy_stages, chunk);
    const SpanReader reader;
    if (threadIdx.x == 0) {
        const std::size_t count =
            chunks > blockIdx.x ? (chunks - blockIdx.x + gridDim.x - 1) / gridDim.x : 0;
        const auto offset = [&](std::size_t n) { return (blockIdx.x + n * gridDim.x) * chunk; };
        for (std::size_t n = 0; n < copy_ahead && n < count; ++n) {
            ring.load(static_cast<int>(n), from + offset(n));
        }
        for (std::size_t n = 0; n < count; ++n) {
            const int stage = static_cast<int>(n % copy_stages);
            ptx::mbarrier_wait_parity(ring.barrier(stage), (n / copy_stages) & 1U);
            ptx::cp_async_bulk_global_shared(to + offset(n), ring.slot(stage), chunk);
            ptx::cp_async_bulk_commit_group();
            if (n + copy_ahead < count) {
                ptx::cp_async_bulk_wait_group_read<copy_ahead>();
                ring.load(static_cast<int>((n + copy_ahead) % copy_stages),
                          from + offset(n + copy_ahead));
            }
        }
        ptx::cp_async_bulk_wait_group<0>();
    }
    reader.end(span);
}

void allow_shared(const void* kernel, int bytes) {
    check_cuda(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "a bulk copy probe: asking for " + std::to_string(bytes) + " bytes of shared memory");
}

double read_bulk(int ctas, int chunk, int stages, const void* from, std::size_t bytes,
                 GpuSpan* span, void* stream) {
    if (stages > max_stages) {
        throw Error(Status::internal, "a bulk read has at most 32 stages");
    }
    allow_shared(reinterpret_cast<const void*>(read_bulk_kernel), chunk * stages);
    const std::size_t chunks = bytes / chunk;
    read_bulk_kernel<<<ctas, 32, chunk * stages, as_stream(stream)>>>(
        static_cast<const std::byte*>(from), chunks, chunk, stages, span);
    return static_cast<double>(chunks) * chunk;
}

double copy_bulk(int ctas, int chunk, void* to, const void* from, std::size_t bytes, GpuSpan* span,
                 void* stream) {
    allow_shared(reinterpret_cast<const void*>(copy_bulk_kernel), chunk * copy_stages);
    const std::size_t chunks = bytes / chunk;
    copy_bulk_kernel<<<ctas, 32, chunk * copy_stages, as_stream(stream)>>>(
        static_cast<std::byte*>(to), static_cast<const std::byte*>(from), chunks, chunk, span);
    return 2 * static_cast<double>(chunks) * chunk;
}

}  // namespace

void add_bulk_kernels(GpuKernels& table) {
    table.read_bulk = read_bulk;
    table.copy_bulk = copy_bulk;
}

}  // namespace raceline::probe
