// SPDX-License-Identifier: Apache-2.0
// gqa_scorestationary on a cache of E4M3: half the bytes cross from memory. Between the load and
// the store to shared memory every element becomes the half that it is exactly; the scales of a KV
// head are factors of Q and of the output.
#pragma once

#include <cuda_fp8.h>

#include "ladder/decode/gqa_scorestationary/gqa_scorestationary.cuh"

namespace raceline::kernels::fp8_kv {

using namespace decode;
using gqa_scorestationary::pitch_of;

// What K and V of a KV head are to be multiplied by.
struct Scales {
    float k, v;

    __device__ Scales(const AttentionArgs& a, unsigned batch, unsigned head_kv) {
        const int at = static_cast<int>(batch) * a.heads_kv + static_cast<int>(head_kv);
        k = a.k_scale == nullptr ? 1 : a.k_scale[at];
        v = a.v_scale == nullptr ? 1 : a.v_scale[at];
    }
};

// Eight E4M3 as eight halves.
inline __device__ uint4 halves_of(std::uint32_t low, std::uint32_t high) {
    __half2_raw pairs[4];
    for (int i = 0; i < 4; ++i) {
        const std::uint32_t two = (i < 2 ? low : high) >> (i % 2 * 16);
        pairs[i] = __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(two), __NV_E4M3);
    }
    return *reinterpret_cast<const uint4*>(pairs);
}
// Sixteen E4M3 as sixteen halves at `to`. Lanes are 32 bytes apart: where a row has no padding for
// it, every other four write their upper half first, so that eight lanes cover all banks.
inline __device__ void store_halves(__half* to, uint4 raw, bool upper_first) {
    auto* chunks = reinterpret_cast<uint4*>(to);
    const uint4 lower = halves_of(raw.x, raw.y);
    const uint4 upper = halves_of(raw.z, raw.w);
    chunks[upper_first ? 1 : 0] = upper_first ? upper : lower;
    chunks[upper_first ? 0 : 1] = upper_first ? lower : upper;
}

struct Cache : paged::Cache<std::uint8_t> {
    static constexpr bool scaled = true;
    Scales scale;

    __device__ Cache(const AttentionArgs& args, unsigned batch, unsigned head_kv)
        : paged::Cache<std::uint8_t>(args, batch, head_kv), scale(args, batch, head_kv) {}
    template <int d>
    __device__ void stage(__half* tile_k, __half* tile_v, int first, int keys) const {
        stage_blocks<d, 16, gqa_scorestationary::tile_keys(d), 32>(
            *this, first, keys, [&](int to, int chunk, uint4 raw_k, uint4 raw_v) {
                const bool odd_four = (threadIdx.x & 4) != 0;
                store_halves(tile_k + to * pitch_of(d) + chunk, raw_k, odd_four && d == 128);
                store_halves(tile_v + to * d + chunk, raw_v, odd_four);
            });
    }
};

}  // namespace raceline::kernels::fp8_kv
