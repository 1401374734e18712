// SPDX-License-Identifier: Apache-2.0
// What a warp does with one block of keys: scores, online softmax, sums of values. A lane has two
// rows of the 16, `lane / 4` and eight further on, each shared with the three others of its quad.
#pragma once

#include <cmath>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "gpu/ptx/approx_ftz_f32.cuh"
#include "gpu/ptx/ldmatrix.cuh"
#include "gpu/ptx/mma_m16n8.cuh"
#include "gpu/tile/base_two.cuh"
#include "gpu/tile/half_pairs.cuh"
#include "gpu/tile/tanh.cuh"
#include "kernels/decode_sm90/load.cuh"
#include "workload/seen_keys.hpp"

namespace raceline::kernels::decode_sm90 {

/// The type of both products' operands: Q's own for a cache of 16 bits. e4m3 becomes fp16, which
/// holds it exactly, and so does Q, whose rows are scaled to fp16's range.
template <Tile tile, bool bf16>
inline constexpr bool products_in_bf16 = bf16 && tile.eight_bits == 0;

/// Where every value has a scale, outputs stand relative to the largest so far: probabilities times
/// scales must stay in fp16's range. The same for all rows.
template <bool token_scales>
struct ValueScale {};
template <>
struct ValueScale<true> {
    float largest_scale, inverse_scale;  ///< of values, and 1 / that
};

/// What a warp keeps between blocks of a unit. Sums and outputs stand relative to 2^base; -inf for
/// a row that has seen no key. `sum` is of this lane's own keys until the warps meet.
template <Tile tile>
struct Rows : ValueScale<tile.token_scales != 0> {
    std::uint32_t q[tile.headdim / 16][4];
    float scale[2];  ///< of a product of Q and K, to be a logit in powers of two
    float out[tile.headdim / 8][4];
    float base[2], sum[2];
    /// Keys that the row sees: from one to the other. Under a tree all before `from`, the key of
    /// the sequence's first new token, and from there on those whose bit of `to` is set.
    std::int32_t from[2], to[2];
};

/// Column of V of element e of a lane's row in accumulator j. In 8 bits the columns of sixteen are
/// dealt out to two accumulators, even and odd ones: that is how a transposed ldmatrix leaves them.
template <Tile tile>
constexpr int output_column(int lane, int j, int e) {
    return tile.eight_bits != 0 ? j / 2 * 16 + lane % 4 * 4 + 2 * e + j % 2
                                : 8 * j + 2 * (lane % 4) + e;
}

using gpu::packed;

/// Two values in e4m3, in the low half, as fp16.
__device__ __forceinline__ std::uint32_t widened(std::uint32_t two) {
    const __half2_raw raw =
        __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(two), __NV_E4M3);
    return raw.x | static_cast<std::uint32_t>(raw.y) << 16;
}

template <bool bf16>
__device__ __forceinline__ void multiply(float (&d)[4], const std::uint32_t (&a)[4],
                                         std::uint32_t b0, std::uint32_t b1) {
    const std::uint32_t b[2] = {b0, b1};
    if constexpr (bf16) {
        ptx::mma_m16n8k16_bf16(d, a, b);
    } else {
        ptx::mma_m16n8k16_f16(d, a, b);
    }
}

/// score[8 keys] = Q · Kᵀ of a block at shared address `k`.
template <Tile tile, bool bf16>
__device__ __forceinline__ void scores(const Rows<tile>& r, std::uint32_t k,
                                       float (&score)[tile.keys / 8][4]) {
    constexpr bool in_bf16 = products_in_bf16<tile, bf16>;
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t half = lane / 8 % 2;
    const std::uint32_t other = lane / 16;
#pragma unroll
    for (int pair = 0; pair < tile.keys / 16; ++pair) {
        float(&even)[4] = score[2 * pair];
        float(&odd)[4] = score[2 * pair + 1];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            even[i] = 0;
            odd[i] = 0;
        }
        if constexpr (tile.eight_bits != 0) {
            // A chunk is 16 columns; a lane gets four neighbours of them: Q's are dealt out alike.
            const std::uint32_t row = 16 * pair + lane % 8 + 8 * half;
#pragma unroll
            for (int step = 0; step < tile.headdim / 16; step += 2) {
                std::uint32_t x[4];
                ptx::ldmatrix_x4(x, k + swizzled<tile>(row, step + other));
                multiply<in_bf16>(even, r.q[step], widened(x[0] & 0xFFFFU), widened(x[0] >> 16));
                multiply<in_bf16>(odd, r.q[step], widened(x[1] & 0xFFFFU), widened(x[1] >> 16));
                multiply<in_bf16>(even, r.q[step + 1], widened(x[2] & 0xFFFFU),
                                  widened(x[2] >> 16));
                multiply<in_bf16>(odd, r.q[step + 1], widened(x[3] & 0xFFFFU), widened(x[3] >> 16));
            }
        } else {
            const std::uint32_t row = 16 * pair + lane % 8 + 8 * other;
#pragma unroll
            for (int step = 0; step < tile.headdim / 16; ++step) {
                std::uint32_t x[4];
                ptx::ldmatrix_x4(x, k + swizzled<tile>(row, 2 * step + half));
                multiply<in_bf16>(even, r.q[step], x[0], x[1]);
                multiply<in_bf16>(odd, r.q[step], x[2], x[3]);
            }
        }
    }
}

/// out += P · V of a block at shared address `v`. `p`: probabilities as the product takes them.
template <Tile tile, bool bf16>
__device__ __forceinline__ void add_values(Rows<tile>& r, std::uint32_t v,
                                           const std::uint32_t (&p)[tile.keys / 16][4]) {
    constexpr bool in_bf16 = products_in_bf16<tile, bf16>;
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t half = lane / 8 % 2;
    const std::uint32_t other = lane / 16;
#pragma unroll
    for (int step = 0; step < tile.keys / 16; ++step) {
        const std::uint32_t row = 16 * step + lane % 8 + 8 * half;
#pragma unroll
        for (int chunk = 0; chunk < tile.chunks(); chunk += 2) {
            std::uint32_t x[4];
            ptx::ldmatrix_x4_trans(x, v + swizzled<tile>(row, chunk + other));
            if constexpr (tile.eight_bits != 0) {
#pragma unroll
                for (int c = 0; c < 2; ++c) {
                    // Two columns of two keys: into one word a column.
                    const std::uint32_t low = __byte_perm(x[2 * c], 0, 0x3120);
                    const std::uint32_t high = __byte_perm(x[2 * c + 1], 0, 0x3120);
                    multiply<in_bf16>(r.out[2 * (chunk + c)], p[step], widened(low & 0xFFFFU),
                                      widened(high & 0xFFFFU));
                    multiply<in_bf16>(r.out[2 * (chunk + c) + 1], p[step], widened(low >> 16),
                                      widened(high >> 16));
                }
            } else {
                multiply<in_bf16>(r.out[chunk], p[step], x[0], x[1]);
                multiply<in_bf16>(r.out[chunk + 1], p[step], x[2], x[3]);
            }
        }
    }
}

/// Products of Q and K take the keys' scales. A lane's two keys of eight are neighbours.
template <Tile tile>
__device__ __forceinline__ void scale_scores(const float* scales,
                                             float (&score)[tile.keys / 8][4]) {
    const float* its = scales + threadIdx.x % 4 * 2;
#pragma unroll
    for (int j = 0; j < tile.keys / 8; ++j) {
        const float2 two = *reinterpret_cast<const float2*>(its + 8 * j);
        score[j][0] *= two.x;
        score[j][1] *= two.y;
        score[j][2] *= two.x;
        score[j][3] *= two.y;
    }
}

/// Probabilities take the values' scales, relative to the largest one so far.
template <Tile tile>
__device__ __forceinline__ void scale_probabilities(Rows<tile>& r, const float* scales,
                                                    float (&p)[tile.keys / 8][4]) {
    const float* its = scales + threadIdx.x % 4 * 2;
    float largest = r.largest_scale;
#pragma unroll
    for (int j = 0; j < tile.keys / 8; ++j) {
        const float2 two = *reinterpret_cast<const float2*>(its + 8 * j);
        largest = fmaxf(largest, fmaxf(two.x, two.y));
    }
    // The four lanes of a quad have all keys of the block.
    largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFFU, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFFU, largest, 2));
    if (largest > r.largest_scale) {
        const float keep = r.largest_scale / largest;
        r.largest_scale = largest;
        r.inverse_scale = 1.0F / largest;
#pragma unroll
        for (int j = 0; j < tile.headdim / 8; ++j) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                r.out[j][i] *= keep;
            }
        }
    }
#pragma unroll
    for (int j = 0; j < tile.keys / 8; ++j) {
        const float2 two = *reinterpret_cast<const float2*>(its + 8 * j);
        const float low = two.x * r.inverse_scale;
        const float high = two.y * r.inverse_scale;
        p[j][0] *= low;
        p[j][1] *= high;
        p[j][2] *= low;
        p[j][3] *= high;
    }
}

/// Whether the lane's row i sees a key, under a tree.
template <Tile tile>
__device__ __forceinline__ bool sees_in_tree(const Rows<tile>& r, int i, std::int32_t key) {
    return key < r.from[i] || bit_is_set(static_cast<std::uint32_t>(r.to[i]), key - r.from[i]);
}

/// Scores to logits in powers of two: scale, softcap, and -inf where a row does not see the key.
template <Tile tile, class Params>
__device__ __forceinline__ void to_logits(const Params& p, const Rows<tile>& r, std::int32_t key0,
                                          bool masked, float (&score)[tile.keys / 8][4]) {
    if (p.cap_inner != 0) [[unlikely]] {
#pragma unroll
        for (int j = 0; j < tile.keys / 8; ++j) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                score[j][i] = gpu::tanh_anywhere(score[j][i] * r.scale[i / 2]) * p.scale_log2;
            }
        }
    } else {
#pragma unroll
        for (int j = 0; j < tile.keys / 8; ++j) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                score[j][i] *= r.scale[i / 2];
            }
        }
    }
    if (masked) [[unlikely]] {
        const auto column = static_cast<std::int32_t>(threadIdx.x % 4 * 2);
#pragma unroll
        for (int j = 0; j < tile.keys / 8; ++j) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const std::int32_t key = key0 + 8 * j + column + i % 2;
                bool seen = key >= r.from[i / 2] && key < r.to[i / 2];
                if constexpr (has_tree<Params>) {
                    seen = sees_in_tree(r, i / 2, key);
                }
                score[j][i] = seen ? score[j][i] : -INFINITY;
            }
        }
    }
}

/// Logits to probabilities relative to the rows' maxima so far; earlier sums follow.
template <Tile tile>
__device__ __forceinline__ void softmax(Rows<tile>& r, float (&score)[tile.keys / 8][4]) {
    float highest[2] = {-INFINITY, -INFINITY};
#pragma unroll
    for (int j = 0; j < tile.keys / 8; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            highest[i / 2] = fmaxf(highest[i / 2], score[j][i]);
        }
    }
    float shift[2];
    bool rises = false;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        highest[i] = fmaxf(highest[i], __shfl_xor_sync(0xFFFFFFFFU, highest[i], 1));
        highest[i] = fmaxf(highest[i], __shfl_xor_sync(0xFFFFFFFFU, highest[i], 2));
        rises = rises || highest[i] > r.base[i];
    }
    if (__any_sync(0xFFFFFFFFU, rises) != 0) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const float now = fmaxf(r.base[i], highest[i]);
            // A row that has seen no key has nothing to keep, and -inf - -inf is no number.
            const float keep = now == -INFINITY ? 1.0F : ptx::ex2_approx_ftz_f32(r.base[i] - now);
            r.base[i] = now;
            r.sum[i] *= keep;
#pragma unroll
            for (int j = 0; j < tile.headdim / 8; ++j) {
                r.out[j][2 * i] *= keep;
                r.out[j][2 * i + 1] *= keep;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        shift[i] = r.base[i] == -INFINITY ? 0.0F : r.base[i];
    }
#pragma unroll
    for (int j = 0; j < tile.keys / 8; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            score[j][i] = ptx::ex2_approx_ftz_f32(score[j][i] - shift[i / 2]);
            r.sum[i / 2] += score[j][i];
        }
    }
}

/// Probabilities as the product with V takes them.
template <Tile tile, bool bf16>
__device__ __forceinline__ void pack(const float (&score)[tile.keys / 8][4],
                                     std::uint32_t (&p)[tile.keys / 16][4]) {
#pragma unroll
    for (int step = 0; step < tile.keys / 16; ++step) {
#pragma unroll
        for (int w = 0; w < 4; ++w) {
            const float(&from)[4] = score[2 * step + w / 2];
            p[step][w] = packed<products_in_bf16<tile, bf16>>(from[w % 2 * 2], from[w % 2 * 2 + 1]);
        }
    }
}

/// One block of keys, complete in shared memory: K at `k`, V behind it. `scales`: of its keys, then
/// of its values, where each has one.
template <Tile tile, bool bf16, class Params>
__device__ __forceinline__ void add_block(const Params& p, Rows<tile>& r, std::uint32_t k,
                                          const float* scales, std::int32_t block, bool masked) {
    float score[tile.keys / 8][4];
    std::uint32_t probability[tile.keys / 16][4];
    scores<tile, bf16>(r, k, score);
    if constexpr (tile.token_scales != 0) {
        scale_scores<tile>(scales, score);
    }
    to_logits<tile>(p, r, block * tile.keys, masked, score);
    softmax<tile>(r, score);
    if constexpr (tile.token_scales != 0) {
        scale_probabilities<tile>(r, scales + tile.keys, score);
    }
    pack<tile, bf16>(score, probability);
    add_values<tile, bf16>(r, k + tile.block_bytes(), probability);
}

}  // namespace raceline::kernels::decode_sm90
