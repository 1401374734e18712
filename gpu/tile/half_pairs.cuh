// SPDX-License-Identifier: Apache-2.0
// Pairs of 16-bit elements in a word, on their way from accumulators to operands and outputs.
#pragma once

#include <cstdint>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace raceline::gpu {

/// Two floats as a product's operand takes them, the first in the low half.
template <bool bf16>
__device__ __forceinline__ std::uint32_t packed(float low, float high) {
    std::uint32_t word;
    if constexpr (bf16) {
        const __nv_bfloat162 two = __floats2bfloat162_rn(low, high);
        static_assert(sizeof(two) == sizeof(word));
        memcpy(&word, &two, sizeof(word));
    } else {
        const __half2 two = __floats2half2_rn(low, high);
        static_assert(sizeof(two) == sizeof(word));
        memcpy(&word, &two, sizeof(word));
    }
    return word;
}

/// Word s of thread t of a quad becomes word t of thread s.
__device__ __forceinline__ void transpose_quad(std::uint32_t (&x)[4]) {
    const bool odd = (threadIdx.x & 1U) != 0;
    const bool upper = (threadIdx.x & 2U) != 0;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        const std::uint32_t given = odd ? x[i] : x[i + 1];
        const std::uint32_t taken = __shfl_xor_sync(0xFFFFFFFFU, given, 1);
        x[i] = odd ? taken : x[i];
        x[i + 1] = odd ? x[i + 1] : taken;
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const std::uint32_t given = upper ? x[i] : x[i + 2];
        const std::uint32_t taken = __shfl_xor_sync(0xFFFFFFFFU, given, 2);
        x[i] = upper ? taken : x[i];
        x[i + 2] = upper ? x[i + 2] : taken;
    }
}

}  // namespace raceline::gpu
