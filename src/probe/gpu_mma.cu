// SPDX-License-Identifier: Apache-2.0
// Tensor cores by the warp-level instruction, the only one before Hopper and on consumer chips.
#include <cuda_runtime.h>

#include "gpu/ptx/mma_m16n8.cuh"
#include "probe/gpu.hpp"
#include "probe/gpu_span.cuh"
#include "raceline/error.hpp"

namespace raceline::probe {
namespace {

constexpr int rows = 4;     // A fragments a warp holds
constexpr int columns = 4;  // B fragments: 16 products on independent accumulators
constexpr int steps = 8;    // unrolled
constexpr double flops_per_depth = 16.0 * 8 * 2;  // of one 16 × 8 product, for each element along k

template <MatrixType type>
__device__ void product(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    if constexpr (type == MatrixType::bf16) {
        ptx::mma_m16n8k16_bf16(d, a, b);
    } else if constexpr (type == MatrixType::fp16) {
        ptx::mma_m16n8k16_f16(d, a, b);
    } else {
        // Hopper has no such instruction: ptxas replaces it by fp16 products and, as operands never
        // change here, by one product for many. The host does not ask for it there.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890 && __CUDA_ARCH__ != 900
        ptx::mma_m16n8k32_e4m3(d, a, b);
#endif
    }
}

template <MatrixType type>
__global__ void __launch_bounds__(256)
    mma_kernel(int rounds, const std::uint32_t* operands, GpuSpan* span) {
    std::uint32_t a[rows][4];
    std::uint32_t b[columns][2];
    float d[rows][columns][4] = {};
    const std::uint32_t* next = operands + threadIdx.x;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
#pragma unroll
        for (int i = 0; i < 4; ++i, next += blockDim.x) {
            a[r][i] = *next;
        }
    }
#pragma unroll
    for (int c = 0; c < columns; ++c) {
#pragma unroll
        for (int i = 0; i < 2; ++i, next += blockDim.x) {
            b[c][i] = *next;
        }
    }
    const SpanReader reader;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int step = 0; step < steps; ++step) {
#pragma unroll
            for (int r = 0; r < rows; ++r) {
#pragma unroll
                for (int c = 0; c < columns; ++c) {
                    product<type>(d[r][c], a[r], b[c]);
                }
            }
        }
    }
    reader.end(span);
    float total = 0;
#pragma unroll
    for (int i = 0; i < rows * columns * 4; ++i) {
        total += d[i / 4 / columns][i / 4 % columns][i % 4];
    }
    keep(__float_as_uint(total), span);
}

double mma(MatrixType type, int ctas, int threads, int rounds, const void* operands, GpuSpan* span,
           void* stream) {
    const std::size_t words = static_cast<std::size_t>(threads) * (rows * 4 + columns * 2);
    if (words * 4 > matrix_operand_bytes || threads > 256) {
        throw Error(Status::internal, "the mma probe takes at most 256 threads a CTA");
    }
    const auto* data = static_cast<const std::uint32_t*>(operands);
    const auto kernel = type == MatrixType::bf16   ? mma_kernel<MatrixType::bf16>
                        : type == MatrixType::fp16 ? mma_kernel<MatrixType::fp16>
                                                   : mma_kernel<MatrixType::e4m3>;
    kernel<<<ctas, threads, 0, as_stream(stream)>>>(rounds, data, span);
    const double depth = type == MatrixType::e4m3 ? 32 : 16;
    return flops_per_depth * depth * rows * columns * steps * rounds * ctas * (threads / 32);
}

}  // namespace

void add_mma_kernels(GpuKernels& table) {
    table.mma = mma;
}

}  // namespace raceline::probe
