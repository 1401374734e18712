// SPDX-License-Identifier: Apache-2.0
// Where in the L2 a line is at home, seen from an SM. An atomic operation is done there and nowhere
// else; a load may be served by a copy in the SM's own half.
#include <cuda_runtime.h>
#include <string>

#include "gpu/ptx/ld_global.cuh"
#include "gpu/ptx/smid.cuh"
#include "probe/gpu.hpp"
#include "probe/gpu_span.cuh"
#include "support/cuda_check.cuh"

namespace raceline::probe {
namespace {

constexpr int tries = 6;

// The least of some: another SM's access to the same line, or a page that was not yet known.
__device__ std::uint32_t least_cycles(std::byte* block) {
    auto* word = reinterpret_cast<std::uint32_t*>(block);
    std::uint32_t least = ~0U;
    for (int i = 0; i < tries; ++i) {
        const long long begin = clock64();
        // All of the buffer is 0, so that the second address waits for the first result.
        const std::uint32_t zero = atomicAdd(word, 0U);
        const std::uint32_t zeros = atomicAdd(word + zero, 0U);
        const auto cycles = static_cast<std::uint32_t>(clock64() - begin + zeros) / 2;
        least = cycles < least ? cycles : least;
    }
    return least;
}

// SMs begin at different blocks, so that they rarely meet at one.
__global__ void atomic_by_unit_kernel(std::byte* blocks, std::uint32_t count,
                                      std::uint32_t* cycles) {
    const std::uint32_t unit = ptx::smid();
    if (unit >= gridDim.x) {
        return;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t block = (i + unit * (count / gridDim.x + 1)) % count;
        cycles[std::size_t{unit} * count + block] = least_cycles(blocks + block * home_block_bytes);
    }
}

__global__ void atomic_once_kernel(std::byte* blocks, std::uint32_t count, std::uint32_t* cycles,
                                   std::uint32_t* unit) {
    for (std::uint32_t block = blockIdx.x; block < count; block += gridDim.x) {
        cycles[block] = least_cycles(blocks + block * home_block_bytes);
        unit[block] = ptx::smid();
    }
}

constexpr int reader_threads = 512;
constexpr int reader_loads = 8;
constexpr std::uint32_t tile_blocks = reader_threads * reader_loads * 16 / home_block_bytes;

// CTAs of a side take tile after tile of its list, whichever is ready first.
__global__ void __launch_bounds__(reader_threads, 2)
    read_listed_kernel(const std::byte* blocks, ListedBlocks listed, GpuSpan* span) {
    __shared__ std::uint32_t next;
    const SpanReader reader;
    const std::uint32_t unit = ptx::smid();
    if (unit >= listed.units) {
        return;
    }
    const int side = listed.sides[unit];
    const std::uint32_t* list = listed.blocks[side];
    constexpr std::uint32_t threads_of_block = home_block_bytes / 16;
    const std::uint32_t in_tile = threadIdx.x / threads_of_block;
    const std::uint32_t offset = threadIdx.x % threads_of_block;
    std::uint32_t sum = 0;
#pragma unroll 1
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) {
            next = atomicAdd(listed.taken + side, 1U);
        }
        __syncthreads();
        if ((next + std::uint64_t{1}) * tile_blocks > listed.counts[side]) {
            break;
        }
        uint4 vectors[reader_loads];
#pragma unroll
        for (int u = 0; u < reader_loads; ++u) {
            const std::uint32_t at =
                next * tile_blocks + u * (reader_threads / threads_of_block) + in_tile;
            const auto* from = reinterpret_cast<const uint4*>(blocks + list[at] * home_block_bytes);
            vectors[u] = ptx::ld_global_cg_v4_u32(from + offset);
        }
#pragma unroll
        for (int u = 0; u < reader_loads; ++u) {
            sum ^= vectors[u].x ^ vectors[u].y ^ vectors[u].z ^ vectors[u].w;
        }
    }
    reader.end(span);
    keep(sum, span);
}

__global__ void chase_on_kernel(std::uint32_t unit, const std::byte* nodes, std::uint32_t* at,
                                int steps) {
    if (ptx::smid() != unit) {
        return;
    }
    std::uint32_t offset = *at;
#pragma unroll 16
    for (int step = 0; step < steps; ++step) {
        offset = ptx::ld_global_cg_u32(nodes + offset);
    }
    *at = offset;
}

// With all the shared memory that a CTA may have, no SM holds two.
template <class Kernel>
void one_a_unit(Kernel kernel, int shared_bytes) {
    check_cuda(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
        "the L2 probe: asking for " + std::to_string(shared_bytes) + " bytes of shared memory");
}

void atomic_by_unit(int units, int shared_bytes, void* blocks, std::uint32_t count,
                    std::uint32_t* cycles, void* stream) {
    one_a_unit(atomic_by_unit_kernel, shared_bytes);
    atomic_by_unit_kernel<<<units, 1, shared_bytes, as_stream(stream)>>>(
        static_cast<std::byte*>(blocks), count, cycles);
}

void atomic_once(int units, void* blocks, std::uint32_t count, std::uint32_t* cycles,
                 std::uint32_t* unit, void* stream) {
    atomic_once_kernel<<<units, 1, 0, as_stream(stream)>>>(static_cast<std::byte*>(blocks), count,
                                                           cycles, unit);
}

double read_listed(int ctas, const void* blocks, const ListedBlocks& listed, GpuSpan* span,
                   void* stream) {
    check_cuda(cudaMemsetAsync(listed.taken, 0, 2 * sizeof(std::uint32_t), as_stream(stream)),
               "cudaMemsetAsync");
    read_listed_kernel<<<ctas, reader_threads, 0, as_stream(stream)>>>(
        static_cast<const std::byte*>(blocks), listed, span);
    const std::uint32_t tiles = listed.counts[0] / tile_blocks + listed.counts[1] / tile_blocks;
    return static_cast<double>(tiles) * tile_blocks * home_block_bytes;
}

void chase_on(int unit, int units, int shared_bytes, const void* nodes, std::uint32_t* at,
              int steps, void* stream) {
    one_a_unit(chase_on_kernel, shared_bytes);
    chase_on_kernel<<<units, 1, shared_bytes, as_stream(stream)>>>(
        static_cast<std::uint32_t>(unit), static_cast<const std::byte*>(nodes), at, steps);
}

}  // namespace

void add_l2_kernels(GpuKernels& table) {
    table.atomic_by_unit = atomic_by_unit;
    table.atomic_once = atomic_once;
    table.read_listed = read_listed;
    table.chase_on = chase_on;
}

}  // namespace raceline::probe
