// SPDX-License-Identifier: Apache-2.0
// Hopper's tensor cores by warpgroup products. Two warpgroups a CTA and one CTA an SM: while one
// waits for its group of products, the other's keep the tensor cores busy, as in a real kernel.
#include <cuda_runtime.h>

#include "gpu/ptx/fence_proxy_async_shared.cuh"
#include "gpu/ptx/wgmma_descriptor.cuh"
#include "gpu/ptx/wgmma_group.cuh"
#include "gpu/ptx/wgmma_m64n256.cuh"
#include "probe/gpu.hpp"
#include "probe/gpu_span.cuh"
#include "support/cuda_check.cuh"

namespace raceline::probe {
namespace {

constexpr int warpgroups = 2;
constexpr int threads = warpgroups * 128;
constexpr int row_bytes = 128;  // one swizzle row: 64 elements of bf16 along k
constexpr int a_bytes = 64 * row_bytes;
constexpr int rounds_of_a_sum = 4;       // a power of two
constexpr int k_steps = row_bytes / 32;  // an instruction takes 32 bytes along k
static_assert(matrix_stage_bytes == warpgroups * a_bytes + 256 * row_bytes);

// `a`: a descriptor, or four registers.
template <MatrixType type, class A>
__device__ void product(float (&d)[128], const A& a, std::uint64_t b, bool accumulate) {
    if constexpr (type == MatrixType::bf16) {
        ptx::wgmma_m64n256k16_bf16(d, a, b, accumulate);
    } else if constexpr (type == MatrixType::fp16) {
        ptx::wgmma_m64n256k16_f16(d, a, b, accumulate);
    } else if constexpr (type == MatrixType::e4m3) {
        ptx::wgmma_m64n256k32_e4m3(d, a, b, accumulate);
    } else {
        ptx::wgmma_m64n256k8_tf32(d, a, b, accumulate);
    }
}

// Operands come in by ordinary stores, which the tensor cores read through another proxy.
__device__ void load_operands(uint4* shared, const uint4* operands) {
    for (unsigned i = threadIdx.x; i < matrix_operand_bytes / sizeof(uint4); i += threads) {
        shared[i] = operands[i];
    }
    ptx::fence_proxy_async_shared();
    __syncthreads();
}

// One stage: the products along its 128 bytes of k, one group. At most one older group is left
// running, so that the tensor cores never wait for an instruction to be issued. Without `carry` the
// sums start anew.
template <MatrixType type, bool a_in_registers>
__device__ void stage_products(float (&d)[128], const std::uint32_t (&a_registers)[k_steps][4],
                               std::uint64_t a, std::uint64_t b, bool carry) {
    ptx::wgmma_fence();
#pragma unroll
    for (int k = 0; k < k_steps; ++k) {
        if constexpr (a_in_registers) {
            product<type>(d, a_registers[k], b + 2 * k, carry || k > 0);
        } else {
            product<type>(d, a + 2 * k, b + 2 * k, carry || k > 0);
        }
    }
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();
}

// Sums start anew in some rounds, as they do for every tile of a real kernel: sums that only grow
// stop switching their low bits, and the chip seems to need less power than it does. In which
// rounds is known at run time only: where ptxas could tell, it dropped all products before.
template <MatrixType type, bool a_in_registers>
__global__ void __launch_bounds__(threads, 1)
    wgmma_kernel(int rounds, int carry_mask, const uint4* operands, GpuSpan* span) {
    extern __shared__ __align__(1024) uint4 shared[];
    load_operands(shared, operands);
    const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
    const std::uint32_t warpgroup = threadIdx.x / 128;
    std::uint32_t a_registers[k_steps][4];
#pragma unroll
    for (int i = 0; i < k_steps * 4; ++i) {
        a_registers[i / 4][i % 4] =
            reinterpret_cast<const std::uint32_t*>(operands)[i * threads + threadIdx.x];
    }
    float d[128] = {};
    const SpanReader reader;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int stage = 0; stage < matrix_stages; ++stage) {
            const std::uint32_t at = base + stage * static_cast<int>(matrix_stage_bytes);
            const auto a = ptx::wgmma_descriptor_k_major_128b(at + warpgroup * a_bytes);
            const auto b = ptx::wgmma_descriptor_k_major_128b(at + warpgroups * a_bytes);
            stage_products<type, a_in_registers>(d, a_registers, a, b,
                                                 stage > 0 || (round & carry_mask) != 0);
        }
    }
    ptx::wgmma_wait_group<0>();
    reader.end(span);
    float total = 0;
#pragma unroll
    for (int i = 0; i < 128; ++i) {
        total += d[i];
    }
    keep(__float_as_uint(total), span);
}

template <MatrixType type>
auto kernel_of(bool a_in_registers) {
    return a_in_registers ? wgmma_kernel<type, true> : wgmma_kernel<type, false>;
}

double wgmma(MatrixType type, bool a_in_registers, int ctas, int rounds, const void* operands,
             GpuSpan* span, void* stream) {
    const auto kernel = type == MatrixType::bf16   ? kernel_of<MatrixType::bf16>(a_in_registers)
                        : type == MatrixType::fp16 ? kernel_of<MatrixType::fp16>(a_in_registers)
                        : type == MatrixType::e4m3 ? kernel_of<MatrixType::e4m3>(a_in_registers)
                                                   : kernel_of<MatrixType::tf32>(a_in_registers);
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    matrix_operand_bytes),
               "the wgmma probe: asking for shared memory");
    kernel<<<ctas, threads, matrix_operand_bytes, as_stream(stream)>>>(
        rounds, rounds_of_a_sum - 1, static_cast<const uint4*>(operands), span);
    const double depth = type == MatrixType::tf32 ? 8 : type == MatrixType::e4m3 ? 32 : 16;
    const double flops_per_product = 2.0 * 64 * 256 * depth;
    return flops_per_product * k_steps * matrix_stages * rounds * warpgroups * ctas;
}

}  // namespace

void add_wgmma_kernels(GpuKernels& table) {
    table.wgmma = wgmma;
}

}  // namespace raceline::probe
