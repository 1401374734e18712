// SPDX-License-Identifier: Apache-2.0
// Chunks of 16 bytes of rows that begin anywhere: parts of them, and chunks of an operand that does
// not begin where the rows do.
#pragma once

#include <cstdint>

#include "gpu/tile/chunk.cuh"

namespace raceline::kernels::rows_cuda {

template <DType type>
inline constexpr int bits_of = 8 * gpu::width_of<type>;

/// Elements `begin` to `end` of the chunk at `from`, which need not be a multiple of 16; 0 for the
/// others. In a loop: few chunks are taken so, and each copy of the code would be long.
template <DType type>
__device__ __forceinline__ uint4 load_elements(const char* from, int begin, int end) {
    std::uint64_t low = 0, high = 0;
#pragma unroll 1
    for (int e = gpu::chunk_of<type> - 1; e >= 0; --e) {
        std::uint64_t bits = 0;
        if (e >= begin && e < end) {
            if constexpr (type == DType::fp32) {
                bits = reinterpret_cast<const std::uint32_t*>(from)[e];
            } else {
                bits = reinterpret_cast<const std::uint16_t*>(from)[e];
            }
        }
        high = high << bits_of<type> | low >> (64 - bits_of<type>);
        low = low << bits_of<type> | bits;
    }
    return make_uint4(static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                      static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32));
}

/// Stores elements `begin` to `end` of a chunk; the others are a neighbour's.
template <DType type>
__device__ __forceinline__ void store_elements(char* to, uint4 chunk, int begin, int end) {
    std::uint64_t low = chunk.x | static_cast<std::uint64_t>(chunk.y) << 32;
    std::uint64_t high = chunk.z | static_cast<std::uint64_t>(chunk.w) << 32;
#pragma unroll 1
    for (int e = 0; e < gpu::chunk_of<type>; ++e) {
        if (e >= begin && e < end) {
            if constexpr (type == DType::fp32) {
                reinterpret_cast<std::uint32_t*>(to)[e] = static_cast<std::uint32_t>(low);
            } else {
                reinterpret_cast<std::uint16_t*>(to)[e] = static_cast<std::uint16_t>(low);
            }
        }
        low = low >> bits_of<type> | high << (64 - bits_of<type>);
        high >>= bits_of<type>;
    }
}

template <DType type>
__device__ __forceinline__ uint4 packed_chunk(const float (&x)[gpu::chunk_of<type>]) {
    uint4 chunk;
    gpu::store_chunk<type>(reinterpret_cast<char*>(&chunk), 0, gpu::chunk_of<type>, true, x);
    return chunk;
}

/// The last `shift` elements of one chunk, and the first of the next.
template <DType type>
__device__ __forceinline__ uint4 joined(uint4 before, uint4 after, int shift) {
    const std::uint32_t words[8] = {before.x, before.y, before.z, before.w,
                                    after.x,  after.y,  after.z,  after.w};
    const int bits = shift * bits_of<type>;
    const bool by_two = (bits & 64) != 0, by_one = (bits & 32) != 0;
    std::uint32_t even[6], ours[5];
#pragma unroll
    for (int w = 0; w < 6; ++w) {
        even[w] = by_two ? words[w] : words[w + 2];
    }
#pragma unroll
    for (int w = 0; w < 5; ++w) {
        ours[w] = by_one ? even[w] : even[w + 1];
    }
    std::uint32_t result[4];
#pragma unroll
    for (int w = 0; w < 4; ++w) {
        const std::uint64_t two = static_cast<std::uint64_t>(ours[w + 1]) << 32 | ours[w];
        result[w] = type == DType::fp32 ? ours[w + 1]
                                        : static_cast<std::uint32_t>(two >> (32 - (bits & 31)));
    }
    return make_uint4(result[0], result[1], result[2], result[3]);
}

/// What stands in a vector of `width` elements for the chunk at `position` of a row whose first
/// element has position `shift`. The vector begins at a multiple of 16 bytes.
template <DType type>
__device__ __forceinline__ uint4 load_of_vector(const char* vector, std::int64_t position,
                                                int shift, std::int64_t width) {
    constexpr int per_chunk = gpu::chunk_of<type>;
    const char* from = vector + position * gpu::width_of<type>;
    const std::int64_t column = position - shift;
    if (column >= 0 && position + per_chunk <= width) {
        const auto* chunk = reinterpret_cast<const uint4*>(from);
        const uint4 after = __ldg(chunk);
        return joined<type>(shift == 0 ? after : __ldg(chunk - 1), after, shift);
    }
    const std::int64_t left = width - column;
    return load_elements<type>(from - shift * gpu::width_of<type>,
                               static_cast<int>(column < 0 ? -column : 0),
                               static_cast<int>(left < per_chunk ? left : per_chunk));
}

}  // namespace raceline::kernels::rows_cuda
