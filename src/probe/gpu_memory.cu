// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include "gpu/ptx/ld_global.cuh"
#include "probe/gpu.hpp"
#include "probe/gpu_span.cuh"
#include "raceline/error.hpp"
#include "support/cuda_check.cuh"

namespace raceline::probe {
namespace {

// The bound is what lets the compiler keep all of a tile's loads in flight: without it, registers
// are held to 32 and a thread never has more than four.
constexpr int max_threads = 512;

// A tile is `unroll` vectors a thread: all loads of it are issued before the first is used.
template <int unroll, class Load>
__device__ __forceinline__ void add_tile(std::uint32_t& sum, const uint4* base, const Load& load) {
    uint4 vectors[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
        vectors[u] = load(base + u * blockDim.x);
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
        sum ^= vectors[u].x ^ vectors[u].y ^ vectors[u].z ^ vectors[u].w;
    }
}

// CTA b takes tiles b, b + grid, …
template <int unroll>
__global__ void __launch_bounds__(max_threads, 1)
    read_kernel(const uint4* from, std::size_t tiles, GpuSpan* span) {
    const SpanReader reader;
    std::uint32_t sum = 0;
#pragma unroll 1
    for (std::size_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const uint4* base = from + tile * unroll * blockDim.x + threadIdx.x;
        add_tile<unroll>(sum, base, ptx::ld_global_nc_l1_no_allocate_v4_u32);
    }
    reader.end(span);
    keep(sum, span);
}

// A CTA re-reads its own tiles b × own … (b + 1) × own: no line is asked for by two SMs, whose
// requests could meet before the L2.
template <int unroll>
__global__ void __launch_bounds__(max_threads, 1)
    reread_kernel(const uint4* from, std::size_t own, int rounds, GpuSpan* span) {
    const SpanReader reader;
    std::uint32_t sum = 0;
    std::size_t tile = 0;
    from += own * blockIdx.x * unroll * blockDim.x;
#pragma unroll 1
    for (std::size_t left = own * rounds; left > 0; --left) {
        const uint4* base = from + tile * unroll * blockDim.x + threadIdx.x;
        tile = tile + 1 == own ? 0 : tile + 1;
        add_tile<unroll>(sum, base, ptx::ld_global_cg_v4_u32);
    }
    reader.end(span);
    keep(sum, span);
}

template <StorePolicy policy>
__device__ void store(uint4* to, uint4 value) {
    if constexpr (policy == StorePolicy::streaming) {
        __stcs(to, value);
    } else {
        *to = value;
    }
}

template <int unroll, StorePolicy policy>
__global__ void __launch_bounds__(max_threads, 1)
    write_kernel(uint4* to, std::size_t tiles, std::uint32_t word, GpuSpan* span) {
    const SpanReader reader;
#pragma unroll 1
    for (std::size_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        uint4* base = to + tile * unroll * blockDim.x + threadIdx.x;
#pragma unroll
        for (int u = 0; u < unroll; ++u) {
            store<policy>(base + u * blockDim.x, {word, threadIdx.x, word, word + u});
        }
    }
    reader.end(span);
}

template <int unroll, StorePolicy policy>
__global__ void __launch_bounds__(max_threads, 1)
    copy_kernel(uint4* to, const uint4* from, std::size_t tiles, GpuSpan* span) {
    const SpanReader reader;
#pragma unroll 1
    for (std::size_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const std::size_t offset = tile * unroll * blockDim.x + threadIdx.x;
        uint4 vectors[unroll];
#pragma unroll
        for (int u = 0; u < unroll; ++u) {
            vectors[u] = ptx::ld_global_nc_l1_no_allocate_v4_u32(from + offset + u * blockDim.x);
        }
#pragma unroll
        for (int u = 0; u < unroll; ++u) {
            store<policy>(to + offset + u * blockDim.x, vectors[u]);
        }
    }
    reader.end(span);
}

// Each step's address holds what the step before has read (zeros), and all warps of a CTA meet once
// their loads are there: a step takes as long as the last line of the CTA.
__global__ void __launch_bounds__(max_threads, 1)
    dependent_kernel(const uint4* from, std::size_t tiles, int steps, GpuSpan* span) {
    const SpanReader reader;
    std::size_t tile = blockIdx.x;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        const uint4 vector = ptx::ld_global_cg_v4_u32(from + tile * blockDim.x + threadIdx.x);
        tile += gridDim.x + __syncthreads_or(static_cast<int>(vector.x));
        tile -= tile >= tiles ? tiles : 0;
    }
    reader.end(span);
    keep(static_cast<std::uint32_t>(tile), span);
}

std::size_t whole_tiles(const GpuGrid& grid, std::size_t bytes) {
    if (grid.threads > max_threads) {
        throw Error(Status::internal, "a memory probe has at most 512 threads a CTA");
    }
    return bytes / (sizeof(uint4) * grid.unroll * grid.threads);
}

double tile_bytes(const GpuGrid& grid, std::size_t tiles) {
    return static_cast<double>(tiles) * sizeof(uint4) * grid.unroll * grid.threads;
}

double read(const GpuGrid& grid, const void* from, std::size_t bytes, GpuSpan* span, void* stream) {
    const std::size_t tiles = whole_tiles(grid, bytes);
    with_unroll(grid.unroll, [&]<int unroll>() {
        read_kernel<unroll><<<grid.ctas, grid.threads, 0, as_stream(stream)>>>(
            static_cast<const uint4*>(from), tiles, span);
    });
    return tile_bytes(grid, tiles);
}

double reread(const GpuGrid& grid, const void* from, std::size_t bytes, int rounds, GpuSpan* span,
              void* stream) {
    const std::size_t own = whole_tiles(grid, bytes / grid.ctas);
    if (own == 0) {
        throw Error(Status::internal, "the footprint of an L2 probe holds a tile of every CTA");
    }
    with_unroll(grid.unroll, [&]<int unroll>() {
        reread_kernel<unroll><<<grid.ctas, grid.threads, 0, as_stream(stream)>>>(
            static_cast<const uint4*>(from), own, rounds, span);
    });
    return tile_bytes(grid, own) * rounds * grid.ctas;
}

void dependent(const GpuGrid& grid, const void* from, std::size_t bytes, int steps, GpuSpan* span,
               void* stream) {
    const std::size_t tiles = bytes / (sizeof(uint4) * grid.threads);
    if (tiles < static_cast<std::size_t>(grid.ctas)) {
        throw Error(Status::internal, "the footprint of a latency probe holds a tile of every CTA");
    }
    dependent_kernel<<<grid.ctas, grid.threads, 0, as_stream(stream)>>>(
        static_cast<const uint4*>(from), tiles, steps, span);
}

double write(const GpuGrid& grid, StorePolicy policy, void* to, std::size_t bytes, GpuSpan* span,
             void* stream) {
    const std::size_t tiles = whole_tiles(grid, bytes);
    with_unroll(grid.unroll, [&]<int unroll>() {
        const auto kernel = policy == StorePolicy::streaming
                                ? write_kernel<unroll, StorePolicy::streaming>
                                : write_kernel<unroll, StorePolicy::regular>;
        kernel<<<grid.ctas, grid.threads, 0, as_stream(stream)>>>(static_cast<uint4*>(to), tiles,
                                                                  0x3f9d70a4U, span);
    });
    return tile_bytes(grid, tiles);
}

double copy(const GpuGrid& grid, StorePolicy policy, void* to, const void* from, std::size_t bytes,
            GpuSpan* span, void* stream) {
    const std::size_t tiles = whole_tiles(grid, bytes);
    with_unroll(grid.unroll, [&]<int unroll>() {
        const auto kernel = policy == StorePolicy::streaming
                                ? copy_kernel<unroll, StorePolicy::streaming>
                                : copy_kernel<unroll, StorePolicy::regular>;
        kernel<<<grid.ctas, grid.threads, 0, as_stream(stream)>>>(
            static_cast<uint4*>(to), static_cast<const uint4*>(from), tiles, span);
    });
    return 2 * tile_bytes(grid, tiles);
}

double write_driver(void* to, std::size_t bytes, void* stream) {
    check_cuda(cudaMemsetAsync(to, 0x5a, bytes, as_stream(stream)), "cudaMemsetAsync");
    return static_cast<double>(bytes);
}

double copy_driver(void* to, const void* from, std::size_t bytes, void* stream) {
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, as_stream(stream)),
               "cudaMemcpyAsync");
    return 2 * static_cast<double>(bytes);
}

}  // namespace

void add_memory_kernels(GpuKernels& table) {
    table.read = read;
    table.reread = reread;
    table.dependent = dependent;
    table.write = write;
    table.write_driver = write_driver;
    table.copy = copy;
    table.copy_driver = copy_driver;
}

}  // namespace raceline::probe
