// SPDX-License-Identifier: Apache-2.0
// What a warp does with one block of keys: scores, online softmax, sums of values. Matrices are the
// transposed ones: keys and columns of V fill the 16 rows of a product, rows of Q its 8 columns. Of
// each eight rows a lane has two neighbours, which it shares with one lane in four.
#pragma once

#include <cmath>
#include <cuda_fp16.h>

#include "gpu/ptx/approx_ftz_f32.cuh"
#include "gpu/ptx/cvt_f16x2_e4m3x4.cuh"
#include "gpu/ptx/ldmatrix.cuh"
#include "gpu/ptx/mma_m16n8.cuh"
#include "gpu/ptx/movmatrix.cuh"
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

/// What a warp keeps between blocks of a unit of up to 8 · `eights` rows. Sums and outputs stand
/// relative to 2^base; -inf for a row that has seen no key. `sum` is of this lane's own keys until
/// the warps meet.
template <Tile tile, int eights>
struct Rows : ValueScale<tile.token_scales != 0> {
    static constexpr int lane_rows = 2 * eights;  ///< rows of a lane: row_of_lane()
    std::uint32_t q[eights][tile.headdim / 16][2];
    float scale[lane_rows];  ///< of a product of Q and K, to be a logit in powers of two
    float out[tile.headdim / 16][eights][4];
    float base[lane_rows], sum[lane_rows];
    /// Keys that the row sees: from one to the other. Under a tree all before `from`, the key of
    /// the sequence's first new token, and from there on those whose bit of `to` is set.
    std::int32_t from[lane_rows], to[lane_rows];
};

/// Scores, then probabilities: element e of [pair][n] is of key `16 · pair + key_of_lane(e)` of the
/// block and of the lane's row `2 · n + e % 2`.
template <Tile tile, int eights>
using Scores = float[tile.keys / 16][eights][4];
/// Probabilities as the product with V takes them.
template <Tile tile, int eights>
using Probabilities = std::uint32_t[tile.keys / 16][eights][2];

/// Row i of a lane, of the unit's.
__device__ __forceinline__ int row_of_lane(int i) {
    return 8 * (i / 2) + 2 * static_cast<int>(threadIdx.x % 4) + i % 2;
}
/// Key of element e of a lane's scores, of 16.
__device__ __forceinline__ int key_of_lane(int e) {
    return static_cast<int>(threadIdx.x % 32 / 4) + 8 * (e / 2);
}
/// The largest of a lane's row over all lanes that share it, one in four.
__device__ __forceinline__ float largest_over_keys(float x) {
#pragma unroll
    for (int distance = 4; distance < 32; distance *= 2) {
        x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFU, x, distance));
    }
    return x;
}

/// Column of V of element e of a lane's accumulator [j]. In 8 bits the columns of sixteen are dealt
/// out to its halves, even and odd ones: that is how a transposed ldmatrix leaves them.
template <Tile tile>
constexpr int output_column(int lane, int j, int e) {
    return 16 * j + (tile.eight_bits != 0 ? lane / 4 * 2 + e / 2 : lane / 4 + 8 * (e / 2));
}

using gpu::packed;

/// Four values in e4m3 as fp16, the lower two first.
__device__ __forceinline__ void widen(std::uint32_t four, std::uint32_t& low, std::uint32_t& high) {
    ptx::cvt_f16x2_e4m3x4(low, high, four);
}

/// d += a · b for each eight rows. `b`: of each, as Rows::q and Probabilities hold it.
template <bool bf16, int eights, class B>
__device__ __forceinline__ void multiply(float (&d)[eights][4], const std::uint32_t (&a)[4], B b) {
#pragma unroll
    for (int n = 0; n < eights; ++n) {
        if constexpr (bf16) {
            ptx::mma_m16n8k16_bf16(d[n], a, b(n));
        } else {
            ptx::mma_m16n8k16_f16(d[n], a, b(n));
        }
    }
}

/// score = K · Qᵀ of a block at shared address `k`: keys are the matrix's 16 rows, so that up to
/// eight rows of Q take half of what sixteen do.
template <Tile tile, bool bf16, int eights>
__device__ __forceinline__ void scores(const Rows<tile, eights>& r, std::uint32_t k,
                                       Scores<tile, eights>& score) {
    constexpr bool in_bf16 = products_in_bf16<tile, bf16>;
    constexpr int steps_at_once = tile.eight_bits != 0 ? 2 : 1;
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t row_of_16 = lane % 8 + lane / 8 % 2 * 8;
    const std::uint32_t other = lane / 16;
#pragma unroll
    for (int pair = 0; pair < tile.keys / 16; ++pair) {
#pragma unroll
        for (int i = 0; i < 4 * eights; ++i) {
            score[pair][i / 4][i % 4] = 0;
        }
    }
#pragma unroll
    for (int step = 0; step < tile.headdim / 16; step += steps_at_once) {
        // Blocks of 16 keys in turn: a product does not wait for the one in front of it.
#pragma unroll
        for (int pair = 0; pair < tile.keys / 16; ++pair) {
            const std::uint32_t row = 16 * pair + row_of_16;
            std::uint32_t x[4];
            const auto of_step = [&](int its) {
                return [&r, its](int n) -> const std::uint32_t(&)[2] { return r.q[n][its]; };
            };
            if constexpr (tile.eight_bits != 0) {
                // A chunk is 16 columns; a lane gets four neighbours of them: Q's are dealt out
                // alike.
                ptx::ldmatrix_x4(x, k + swizzled<tile>(row, step + other));
#pragma unroll
                for (int c = 0; c < 2; ++c) {
                    std::uint32_t a[4];
                    widen(x[2 * c], a[0], a[2]);
                    widen(x[2 * c + 1], a[1], a[3]);
                    multiply<in_bf16>(score[pair], a, of_step(step + c));
                }
            } else {
                ptx::ldmatrix_x4(x, k + swizzled<tile>(row, 2 * step + other));
                multiply<in_bf16>(score[pair], x, of_step(step));
            }
        }
    }
}

/// out += Vᵀ · Pᵀ of a block at shared address `v`. `p`: probabilities as the product takes them.
template <Tile tile, bool bf16, int eights>
__device__ __forceinline__ void add_values(Rows<tile, eights>& r, std::uint32_t v,
                                           const Probabilities<tile, eights>& p) {
    constexpr bool in_bf16 = products_in_bf16<tile, bf16>;
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t half = lane / 8 % 2;
    const std::uint32_t other = lane / 16;
#pragma unroll
    for (int step = 0; step < tile.keys / 16; ++step) {
        const auto of_keys = [&](int n) -> const std::uint32_t(&)[2] { return p[step][n]; };
#pragma unroll
        for (int chunk = 0; chunk < tile.chunks(); chunk += 2) {
            std::uint32_t x[4];
            if constexpr (tile.eight_bits != 0) {
                const std::uint32_t row = 16 * step + lane % 8 + 8 * half;
                ptx::ldmatrix_x4_trans(x, v + swizzled<tile>(row, chunk + other));
#pragma unroll
                for (int c = 0; c < 2; ++c) {
                    // Two columns of two keys: into one word a column.
                    std::uint32_t a[4];
                    widen(__byte_perm(x[2 * c], 0, 0x3120), a[0], a[1]);
                    widen(__byte_perm(x[2 * c + 1], 0, 0x3120), a[2], a[3]);
                    multiply<in_bf16>(r.out[chunk + c], a, of_keys);
                }
            } else {
                const std::uint32_t row = 16 * step + lane % 8 + 8 * other;
                ptx::ldmatrix_x4_trans(x, v + swizzled<tile>(row, chunk + half));
                multiply<in_bf16>(r.out[chunk / 2], x, of_keys);
            }
        }
    }
}

/// Outputs and sums so far, of row i of a lane, relative to another base or scale.
template <Tile tile, int eights>
__device__ __forceinline__ void rescale_outputs(Rows<tile, eights>& r, int i, float factor) {
#pragma unroll
    for (int j = 0; j < tile.headdim / 16; ++j) {
        r.out[j][i / 2][i % 2] *= factor;
        r.out[j][i / 2][i % 2 + 2] *= factor;
    }
}

/// Multiplies what a lane has of each key by the key's factor.
template <Tile tile, int eights>
__device__ __forceinline__ void scale_keys(const float* factors, float all,
                                           Scores<tile, eights>& score) {
#pragma unroll
    for (int eight = 0; eight < tile.keys / 8; ++eight) {
        const float its = factors[key_of_lane(0) + 8 * eight] * all;
#pragma unroll
        for (int i = 0; i < 2 * eights; ++i) {
            score[eight / 2][i / 2][eight % 2 * 2 + i % 2] *= its;
        }
    }
}

/// Probabilities take the values' scales, relative to the largest one so far.
template <Tile tile, int eights>
__device__ __forceinline__ void scale_probabilities(Rows<tile, eights>& r, const float* scales,
                                                    Scores<tile, eights>& p) {
    float largest = r.largest_scale;
#pragma unroll
    for (int eight = 0; eight < tile.keys / 8; ++eight) {
        largest = fmaxf(largest, scales[key_of_lane(0) + 8 * eight]);
    }
    if (__any_sync(0xFFFFFFFFU, largest > r.largest_scale) != 0) [[unlikely]] {
        largest = largest_over_keys(largest);
        const float keep = r.largest_scale / largest;
        r.largest_scale = largest;
        r.inverse_scale = 1.0F / largest;
#pragma unroll
        for (int i = 0; i < 2 * eights; ++i) {
            rescale_outputs<tile>(r, i, keep);
        }
    }
    scale_keys<tile, eights>(scales, r.inverse_scale, p);
}

/// Whether the lane's row i sees a key, under a tree.
template <Tile tile, int eights>
__device__ __forceinline__ bool sees_in_tree(const Rows<tile, eights>& r, int i, std::int32_t key) {
    return key < r.from[i] || bit_is_set(static_cast<std::uint32_t>(r.to[i]), key - r.from[i]);
}

/// Scores to logits in powers of two: scale, softcap, and -inf where a row does not see the key.
template <Tile tile, int eights, class Params>
__device__ __forceinline__ void to_logits(const Params& p, const Rows<tile, eights>& r,
                                          std::int32_t key0, bool masked,
                                          Scores<tile, eights>& score) {
    const auto each = [&](auto what) {
#pragma unroll
        for (int pair = 0; pair < tile.keys / 16; ++pair) {
#pragma unroll
            for (int i = 0; i < 4 * eights; ++i) {
                const int e = i % 4;
                what(score[pair][i / 4][e], i / 4 * 2 + e % 2, 16 * pair + 8 * (e / 2));
            }
        }
    };
    if (p.cap_inner != 0) [[unlikely]] {
        each([&](float& x, int row, int /*key*/) {
            x = gpu::tanh_anywhere(x * r.scale[row]) * p.scale_log2;
        });
    } else {
        each([&](float& x, int row, int /*key*/) { x *= r.scale[row]; });
    }
    if (masked) [[unlikely]] {
        const std::int32_t first = key0 + key_of_lane(0);
        each([&](float& x, int row, int of_block) {
            const std::int32_t key = first + of_block;
            bool seen = key >= r.from[row] && key < r.to[row];
            if constexpr (has_tree<Params>) {
                seen = sees_in_tree(r, row, key);
            }
            x = seen ? x : -INFINITY;
        });
    }
}

/// Logits to probabilities relative to the rows' maxima so far; earlier sums follow.
template <Tile tile, int eights>
__device__ __forceinline__ void softmax(Rows<tile, eights>& r, Scores<tile, eights>& score) {
    constexpr int lane_rows = 2 * eights;
    constexpr int keys_of_lane = tile.keys / 8;
    float highest[lane_rows];
    bool rises = false;
#pragma unroll
    for (int i = 0; i < lane_rows; ++i) {
        highest[i] = -INFINITY;
#pragma unroll
        for (int n = 0; n < keys_of_lane; ++n) {
            highest[i] = fmaxf(highest[i], score[n / 2][i / 2][n % 2 * 2 + i % 2]);
        }
        rises = rises || highest[i] > r.base[i];
    }
    if (__any_sync(0xFFFFFFFFU, rises) != 0) {
#pragma unroll
        for (int i = 0; i < lane_rows; ++i) {
            const float now = fmaxf(r.base[i], largest_over_keys(highest[i]));
            // A row that has seen no key has nothing to keep, and -inf - -inf is no number.
            const float keep = now == -INFINITY ? 1.0F : ptx::ex2_approx_ftz_f32(r.base[i] - now);
            r.base[i] = now;
            r.sum[i] *= keep;
            rescale_outputs<tile>(r, i, keep);
        }
    }
#pragma unroll
    for (int i = 0; i < lane_rows; ++i) {
        const float shift = r.base[i] == -INFINITY ? 0.0F : r.base[i];
#pragma unroll
        for (int n = 0; n < keys_of_lane; ++n) {
            float& x = score[n / 2][i / 2][n % 2 * 2 + i % 2];
            x = ptx::ex2_approx_ftz_f32(x - shift);
            r.sum[i] += x;
        }
    }
}

/// Probabilities as the product with V takes them: a lane has two rows of a key and gets two keys
/// of a row.
template <Tile tile, bool bf16, int eights>
__device__ __forceinline__ void pack(const Scores<tile, eights>& score,
                                     Probabilities<tile, eights>& p) {
#pragma unroll
    for (int step = 0; step < tile.keys / 16; ++step) {
#pragma unroll
        for (int n = 0; n < eights; ++n) {
#pragma unroll
            for (int w = 0; w < 2; ++w) {
                const float(&from)[4] = score[step][n];
                p[step][n][w] = ptx::movmatrix_trans(
                    packed<products_in_bf16<tile, bf16>>(from[2 * w], from[2 * w + 1]));
            }
        }
    }
}

/// One block of keys, complete in shared memory: K at `k`, V behind it. `scales`: of its keys, then
/// of its values, where each has one.
template <Tile tile, bool bf16, int eights, class Params>
__device__ __forceinline__ void add_block(const Params& p, Rows<tile, eights>& r, std::uint32_t k,
                                          const float* scales, std::int32_t block, bool masked) {
    Scores<tile, eights> score;
    Probabilities<tile, eights> probability;
    scores<tile, bf16, eights>(r, k, score);
    if constexpr (tile.token_scales != 0) {
        scale_keys<tile, eights>(scales, 1.0F, score);
    }
    to_logits<tile, eights>(p, r, block * tile.keys, masked, score);
    softmax<tile, eights>(r, score);
    if constexpr (tile.token_scales != 0) {
        scale_probabilities<tile, eights>(r, scales + tile.keys, score);
    }
    pack<tile, bf16, eights>(score, probability);
    add_values<tile, bf16, eights>(r, k + tile.block_bytes(), probability);
}

}  // namespace raceline::kernels::decode_sm90
