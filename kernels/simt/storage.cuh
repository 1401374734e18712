// SPDX-License-Identifier: Apache-2.0
// Elements in memory to and from float, and tiles from global to shared memory. The type is looked
// at once per 16 bytes, not compiled in: all arithmetic is fp32 anyway.
#pragma once

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/simt/instances.hpp"

namespace raceline::kernels::simt {

/// log2 of the bytes of an element.
__device__ __forceinline__ int size_shift(DType dtype) {
    return dtype == DType::fp32 ? 2 : dtype == DType::e4m3 ? 0 : 1;
}

__device__ __forceinline__ float load_float(const char* row, int element, DType dtype) {
    switch (dtype) {
        case DType::fp32: return reinterpret_cast<const float*>(row)[element];
        case DType::fp16: return __half2float(reinterpret_cast<const __half*>(row)[element]);
        case DType::bf16:
            return __bfloat162float(reinterpret_cast<const __nv_bfloat16*>(row)[element]);
        default: return static_cast<float>(reinterpret_cast<const __nv_fp8_e4m3*>(row)[element]);
    }
}

__device__ __forceinline__ void store_float(void* base, std::int64_t element, float x,
                                            DType dtype) {
    switch (dtype) {
        case DType::fp32: static_cast<float*>(base)[element] = x; break;
        case DType::fp16: static_cast<__half*>(base)[element] = __float2half_rn(x); break;
        default: static_cast<__nv_bfloat16*>(base)[element] = __float2bfloat16_rn(x); break;
    }
}

/// Two halves or two bf16 in one register, lower address first.
__device__ __forceinline__ float2 unpack_pair(std::uint32_t bits, DType dtype) {
    if (dtype == DType::bf16) {
        return make_float2(__uint_as_float(bits << 16), __uint_as_float(bits & 0xFFFF0000U));
    }
    const __half2_raw raw{static_cast<unsigned short>(bits & 0xFFFFU),
                          static_cast<unsigned short>(bits >> 16)};
    return __half22float2(__half2(raw));
}
__device__ __forceinline__ float4 unpack_e4m3(std::uint32_t bits) {
    const auto pair = [](std::uint32_t two) {
        return __half22float2(
            __half2(__nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(two), __NV_E4M3)));
    };
    const float2 low = pair(bits & 0xFFFFU);
    const float2 high = pair(bits >> 16);
    return make_float4(low.x, low.y, high.x, high.y);
}

/// 16 bytes of any type as floats at `to` (16-byte aligned).
__device__ __forceinline__ void store_chunk(float* to, uint4 raw, DType dtype) {
    auto* quads = reinterpret_cast<float4*>(to);
    if (dtype == DType::fp32) {
        quads[0] = make_float4(__uint_as_float(raw.x), __uint_as_float(raw.y),
                               __uint_as_float(raw.z), __uint_as_float(raw.w));
    } else if (dtype == DType::e4m3) {
        quads[0] = unpack_e4m3(raw.x);
        quads[1] = unpack_e4m3(raw.y);
        quads[2] = unpack_e4m3(raw.z);
        quads[3] = unpack_e4m3(raw.w);
    } else {
        const float2 a = unpack_pair(raw.x, dtype);
        const float2 b = unpack_pair(raw.y, dtype);
        const float2 c = unpack_pair(raw.z, dtype);
        const float2 d = unpack_pair(raw.w, dtype);
        // Lanes are 32 bytes apart: every other four write their upper half first, so that eight
        // lanes cover all banks.
        const int upper = (threadIdx.x >> 2) & 1;
        const float4 low = make_float4(a.x, a.y, b.x, b.y);
        const float4 high = make_float4(c.x, c.y, d.x, d.y);
        quads[upper] = upper != 0 ? high : low;
        quads[1 - upper] = upper != 0 ? low : high;
    }
}

/// Rows of K or V of one sequence and head, contiguous or through the block table.
struct CacheRows {
    const char* base;
    std::int64_t row_bytes;
    const std::int32_t* pages;  ///< of this sequence; null: contiguous
    std::int64_t page_bytes;
    std::int32_t page_size, page_shift, first;

    __device__ __forceinline__ const char* operator()(int row) const {
        const int key = first + row;
        if (pages == nullptr) {
            return base + key * row_bytes;
        }
        const int page = page_shift >= 0 ? key >> page_shift : key / page_size;
        const int inside = key - page * page_size;
        return base + __ldg(pages + page) * page_bytes + inside * row_bytes;
    }
};

/// Packed query rows: row r of the sequence is query r / group, head r % group of the group.
struct QueryRows {
    const char* base;
    std::int64_t query_bytes, head_bytes;
    std::int32_t group, first;

    __device__ __forceinline__ const char* operator()(int row) const {
        const int query = (first + row) / group;
        const int head = first + row - query * group;
        return base + query * query_bytes + head * head_bytes;
    }
};

/// A tile in shared memory: `rows` rows of `padded` floats, zero beyond `valid` rows and `width`
/// columns, so that padding never meets a NaN of unused memory.
struct Stage {
    float* to;
    int pitch, padded, width, valid;
    DType dtype;
    bool chunked;
};

template <int threads, int rows, int batch, class Rows>
__device__ __forceinline__ void stage_chunks(const Stage& s, const Rows& from) {
    const int per_chunk = 16 >> size_shift(s.dtype);
    const int chunks = s.padded / per_chunk;
    const int lane_bits = min(31 - __clz(chunks), 5);
    const int first_row = static_cast<int>(threadIdx.x) >> lane_bits;
    const int step = threads >> lane_bits;
    const int lanes = 1 << lane_bits;
    for (int chunk = static_cast<int>(threadIdx.x) & (lanes - 1); chunk < chunks; chunk += lanes) {
        const bool inside = chunk * per_chunk < s.width;
        for (int r = first_row; r < rows; r += step * batch) {
            // All loads of a batch are in flight before the first is converted.
            uint4 raw[batch];
#pragma unroll
            for (int j = 0; j < batch; ++j) {
                const int row = r + j * step;
                raw[j] = make_uint4(0, 0, 0, 0);
                if (inside && row < s.valid) {
                    raw[j] = __ldg(reinterpret_cast<const uint4*>(from(row)) + chunk);
                }
            }
#pragma unroll
            for (int j = 0; j < batch; ++j) {
                const int row = r + j * step;
                if (row < rows) {
                    store_chunk(s.to + row * s.pitch + chunk * per_chunk, raw[j], s.dtype);
                }
            }
        }
    }
}

/// Any alignment and any width, one element at a time.
template <int threads, int rows, class Rows>
__device__ __forceinline__ void stage_elements(const Stage& s, const Rows& from) {
    for (int e = static_cast<int>(threadIdx.x); e < rows * s.padded; e += threads) {
        const int row = e / s.padded;
        const int column = e - row * s.padded;
        const bool inside = row < s.valid && column < s.width;
        s.to[row * s.pitch + column] = inside ? load_float(from(row), column, s.dtype) : 0.0F;
    }
}

template <int threads, int rows, int batch, class Rows>
__device__ __forceinline__ void stage(const Stage& s, const Rows& from) {
    if (s.chunked) {
        stage_chunks<threads, rows, batch>(s, from);
    } else {
        stage_elements<threads, rows>(s, from);
    }
}

}  // namespace raceline::kernels::simt
