// SPDX-License-Identifier: Apache-2.0
// Sixteen bytes of a row of stored elements, and the floats that they are.
#pragma once

#include <cstdint>
#include <cstring>
#include <cuda_fp16.h>

#include "gpu/tile/half_pairs.cuh"
#include "raceline/dtype.hpp"

namespace raceline::gpu {

/// Bytes of an element of fp32, fp16 and bf16.
template <DType type>
inline constexpr int width_of = type == DType::fp32 ? 4 : 2;
/// Elements of a chunk.
template <DType type>
inline constexpr int chunk_of = 16 / width_of<type>;

/// Chunk `chunk` of a row of `elements` elements; what stands behind its end, or before element
/// `first`, is 0. `aligned`: the chunk is whole and begins at a multiple of 16 bytes.
template <DType type>
__device__ __forceinline__ uint4 load_chunk(const char* row, int chunk, std::int64_t elements,
                                            bool aligned, int first = 0) {
    if (aligned) {
        return __ldg(reinterpret_cast<const uint4*>(row) + chunk);
    }
    std::uint32_t words[4] = {0, 0, 0, 0};
#pragma unroll
    for (int e = 0; e < chunk_of<type>; ++e) {
        const std::int64_t column = static_cast<std::int64_t>(chunk) * chunk_of<type> + e;
        if (column >= first && column < elements) {
            if constexpr (type == DType::fp32) {
                words[e] = reinterpret_cast<const std::uint32_t*>(row)[column];
            } else {
                words[e / 2] |=
                    static_cast<std::uint32_t>(reinterpret_cast<const std::uint16_t*>(row)[column])
                    << (16 * (e % 2));
            }
        }
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

/// The elements of a chunk.
template <DType type>
__device__ __forceinline__ void widen(uint4 chunk, float (&x)[chunk_of<type>]) {
    const std::uint32_t words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
    for (int w = 0; w < 4; ++w) {
        if constexpr (type == DType::fp32) {
            x[w] = __uint_as_float(words[w]);
        } else if constexpr (type == DType::bf16) {
            x[2 * w] = __uint_as_float(words[w] << 16);
            x[2 * w + 1] = __uint_as_float(words[w] & 0xFFFF0000U);
        } else {
            __half2 two;
            memcpy(&two, &words[w], sizeof(two));
            const float2 both = __half22float2(two);
            x[2 * w] = both.x;
            x[2 * w + 1] = both.y;
        }
    }
}

/// Element `column` of a row.
template <DType type>
__device__ __forceinline__ float load_element(const char* row, std::int64_t column) {
    if constexpr (type == DType::fp32) {
        return reinterpret_cast<const float*>(row)[column];
    } else {
        const std::uint32_t bits = reinterpret_cast<const std::uint16_t*>(row)[column];
        float x[chunk_of<type>];
        widen<type>(make_uint4(bits, 0, 0, 0), x);
        return x[0];
    }
}

/// Stores `count` floats as chunk `chunk` of a row of so many elements, as load_chunk reads one.
template <DType type, int count>
__device__ __forceinline__ void store_chunk(char* row, int chunk, std::int64_t elements,
                                            bool aligned, const float (&x)[count]) {
    constexpr int words = count * width_of<type> / 4;
    std::uint32_t bits[words];
#pragma unroll
    for (int w = 0; w < words; ++w) {
        if constexpr (type == DType::fp32) {
            memcpy(&bits[w], &x[w], sizeof(bits[w]));
        } else {
            bits[w] = packed < type == DType::bf16 > (x[2 * w], x[2 * w + 1]);
        }
    }
    if (aligned) {
        auto* to = reinterpret_cast<uint2*>(row) + chunk * (words / 2);
#pragma unroll
        for (int w = 0; w < words; w += 4) {
            if constexpr (words % 4 == 0) {
                reinterpret_cast<uint4*>(to)[w / 4] =
                    make_uint4(bits[w], bits[w + 1], bits[w + 2], bits[w + 3]);
            } else {
                to[0] = make_uint2(bits[0], bits[1]);
            }
        }
        return;
    }
#pragma unroll
    for (int e = 0; e < count; ++e) {
        const std::int64_t column = static_cast<std::int64_t>(chunk) * count + e;
        if (column < elements) {
            if constexpr (type == DType::fp32) {
                reinterpret_cast<std::uint32_t*>(row)[column] = bits[e];
            } else {
                reinterpret_cast<std::uint16_t*>(row)[column] =
                    static_cast<std::uint16_t>(bits[e / 2] >> (16 * (e % 2)));
            }
        }
    }
}

}  // namespace raceline::gpu
