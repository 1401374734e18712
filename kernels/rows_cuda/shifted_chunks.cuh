// SPDX-License-Identifier: Apache-2.0
// Chunks of 16 bytes of rows that begin anywhere: parts of them, and chunks of an operand that does
// not begin where the rows do.
#pragma once

#include <cstdint>

#include "gpu/tile/chunk.cuh"

namespace raceline::kernels::rows_cuda {

/// The first `count` elements of a chunk, of which what stands behind may not be read; 0 for the
/// others. In words of up to eight bytes: none waits for another.
template <DType type>
__device__ __forceinline__ uint4 load_head(const char* from, int count) {
    const int bytes = count * gpu::width_of<type>;
    if (bytes == 16) {
        return __ldg(reinterpret_cast<const uint4*>(from));
    }
    uint2 eight = make_uint2(0, 0);
    std::uint32_t four = 0, two = 0;
    if ((bytes & 8) != 0) {
        eight = __ldg(reinterpret_cast<const uint2*>(from));
    }
    if ((bytes & 4) != 0) {
        four = __ldg(reinterpret_cast<const std::uint32_t*>(from + (bytes & 8)));
    }
    if ((bytes & 2) != 0) {
        two = __ldg(reinterpret_cast<const std::uint16_t*>(from + (bytes & 12)));
    }
    const std::uint32_t first = (bytes & 4) != 0 ? four : two;
    const std::uint32_t second = (bytes & 4) != 0 ? two : 0;
    return (bytes & 8) != 0 ? make_uint4(eight.x, eight.y, first, second)
                            : make_uint4(first, second, 0, 0);
}

/// A chunk whose first `count` elements are replaced by another's.
template <DType type>
__device__ __forceinline__ uint4 with_head(uint4 head, uint4 chunk, int count) {
    const auto mask = [bits = 8 * count * gpu::width_of<type>](int word) {
        const int ours = bits - 32 * word;
        return ours <= 0 ? 0U : ours >= 32 ? 0xFFFFFFFFU : (1U << ours) - 1;
    };
    const auto mixed = [&](std::uint32_t a, std::uint32_t b, int word) {
        return (a & mask(word)) | (b & ~mask(word));
    };
    return make_uint4(mixed(head.x, chunk.x, 0), mixed(head.y, chunk.y, 1),
                      mixed(head.z, chunk.z, 2), mixed(head.w, chunk.w, 3));
}

/// Stores elements `begin` to `end` of a chunk; the others are a neighbour's.
template <DType type>
__device__ __forceinline__ void store_elements(char* to, uint4 chunk, int begin, int end) {
    const std::uint32_t words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
    for (int e = 0; e < gpu::chunk_of<type>; ++e) {
        if (e >= begin && e < end) {
            if constexpr (type == DType::fp32) {
                reinterpret_cast<std::uint32_t*>(to)[e] = words[e];
            } else {
                reinterpret_cast<std::uint16_t*>(to)[e] =
                    static_cast<std::uint16_t>(words[e / 2] >> (16 * (e % 2)));
            }
        }
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
    const int bits = 8 * shift * gpu::width_of<type>;
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

/// The two chunks of a vector that one of a row is joined from, whose first element has position
/// `shift`. `from` is a multiple of 16 bytes; the vector ends at position `end` behind it.
template <DType type>
struct TwoChunks {
    static constexpr int per_chunk = gpu::chunk_of<type>;
    uint4 before, after;

    /// Those that are whole. `has_before`: something stands before position 0.
    __device__ __forceinline__ void load(const char* from, int position, int end, int shift,
                                         bool has_before) {
        const auto* chunk = reinterpret_cast<const uint4*>(from + position * gpu::width_of<type>);
        const uint4 none = make_uint4(0, 0, 0, 0);
        before = has_before && shift > 0 && position <= end ? __ldg(chunk - 1) : none;
        after = position + per_chunk <= end ? __ldg(chunk) : none;
    }
    /// The one in which the vector ends.
    __device__ __forceinline__ void load_end(const char* from, int position, int end) {
        const char* chunk = from + position * gpu::width_of<type>;
        if (position < end) {
            after = load_head<type>(chunk, end - position);
        } else if (position > end) {
            before = load_head<type>(chunk - 16, end - position + per_chunk);
        }
    }
    /// For the first chunk of a row that has its end there: what stands before is the vector's last
    /// of `held` positions.
    __device__ __forceinline__ void load_last(const char* from, int end, std::int64_t held) {
        const std::int64_t position = held - per_chunk;
        before = load_head<type>(from + position * gpu::width_of<type>,
                                 end - static_cast<int>(position));
    }
};

}  // namespace raceline::kernels::rows_cuda
