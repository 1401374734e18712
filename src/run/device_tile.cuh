// SPDX-License-Identifier: Apache-2.0
// Products of a tile of 64 rows with 64 keys, or of 64 probabilities with 64 values: each thread
// keeps its own sums and takes their terms in order, as the host's reference does.
#pragma once

#include <type_traits>

#include "run/device_reference.hpp"
#include "run/device_rounding.cuh"

namespace raceline::device_gate {

inline constexpr int threads = 256;  // 16 × 16, each with 4 rows
inline constexpr int tile_keys = 64;
inline constexpr int depth_step = 32;   // channels or keys in shared memory at a time
inline constexpr int pitch = 68;        // elements from one channel to the next
inline constexpr int columns_each = 8;  // output columns of a thread
inline constexpr int chunk_columns = 16 * columns_each;
inline constexpr int value_pitch = chunk_columns + 4;

/// How sums are rounded.
enum class Sum { nearest, toward_zero, e4m3 };

template <Sum kind, class T>
__device__ __forceinline__ T add_product(T sum, T a, T b) {
    if constexpr (kind == Sum::toward_zero) {
        return __fmaf_rz(a, b, sum);
    } else {
        return fma(a, b, sum);
    }
}

/// sums += a[t] · b[t] over 32 terms as Hopper's tensor core adds products of e4m3
/// (workload/rounded_sum.hpp): all are cut 13 bits below the leading one of the largest.
/// `pa`, `pb`: the first element of each operand, `step_a`, `step_b` apart.
template <int rows, int columns>
__device__ __forceinline__ void add_e4m3(float (&sums)[rows][columns], const float* pa, int step_a,
                                         const float* pb, int step_b) {
    float unit[rows][columns];
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
        for (int j = 0; j < columns; ++j) {
            unit[i][j] = fabsf(sums[i][j]);
        }
    }
#pragma unroll 4
    for (int t = 0; t < depth_step; ++t) {
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            const float a = pa[t * step_a + i];
#pragma unroll
            for (int j = 0; j < columns; ++j) {
                unit[i][j] = fmaxf(unit[i][j], fabsf(a * pb[t * step_b + j]));
            }
        }
    }
    // Adding 2^10 times the leading one to a positive number, toward zero, cuts 13 bits below it.
    const auto cut = [](float x, float magic) {
        return copysignf(__fadd_rz(fabsf(x), magic) - magic, x);
    };
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
        for (int j = 0; j < columns; ++j) {
            const unsigned leading = __float_as_uint(unit[i][j]) & 0x7F800000U;
            unit[i][j] = __uint_as_float(leading) * 1024.0F;
            sums[i][j] = cut(sums[i][j], unit[i][j]);
        }
    }
#pragma unroll 4
    for (int t = 0; t < depth_step; ++t) {
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            const float a = pa[t * step_a + i];
#pragma unroll
            for (int j = 0; j < columns; ++j) {
                sums[i][j] += cut(a * pb[t * step_b + j], unit[i][j]);
            }
        }
    }
}

/// s[i][j] = sum over `depth` channels of row(ty·4 + i, c) · key(tx·4 + j, c). `row` and `key` give
/// 0 for what does not exist. `memory` holds 2 · depth_step · pitch elements.
template <Sum kind, class T, class Row, class Key>
__device__ __forceinline__ void score_tile(T (&s)[4][4], int depth, const Row& row, const Key& key,
                                           T* memory) {
    T* const a = memory;
    T* const b = memory + depth_step * pitch;
    const int tx = static_cast<int>(threadIdx.x) % 16;
    const int ty = static_cast<int>(threadIdx.x) / 16;
    const int channel = static_cast<int>(threadIdx.x) % depth_step;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            s[i][j] = 0;
        }
    }
    for (int c0 = 0; c0 < depth; c0 += depth_step) {
        __syncthreads();  // what stands there is done with
        for (int r = static_cast<int>(threadIdx.x) / depth_step; r < tile_rows;
             r += threads / depth_step) {
            const bool exists = c0 + channel < depth;
            a[channel * pitch + r] = exists ? row(r, c0 + channel) : T(0);
            b[channel * pitch + r] = exists ? key(r, c0 + channel) : T(0);
        }
        __syncthreads();
        if constexpr (kind == Sum::e4m3) {
            add_e4m3<4, 4>(s, a + ty * 4, pitch, b + tx * 4, pitch);
        } else {
#pragma unroll 4
            for (int c = 0; c < depth_step; ++c) {
                T x[4];
                T y[4];
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    x[i] = a[c * pitch + ty * 4 + i];
                    y[i] = b[c * pitch + tx * 4 + i];
                }
#pragma unroll
                for (int i = 0; i < 4; ++i) {
#pragma unroll
                    for (int j = 0; j < 4; ++j) {
                        s[i][j] = add_product<kind>(s[i][j], x[i], y[j]);
                    }
                }
            }
        }
    }
}

/// out[i][c] += sum over 64 keys of p(key, ty·4 + i) · value(key, tx·8 + c). p: (64, pitch) in
/// shared memory; `memory` holds depth_step · value_pitch elements.
template <Sum kind, class T, class Value>
__device__ __forceinline__ void value_tile(T (&out)[4][columns_each], const T* p,
                                           const Value& value, T* memory) {
    const int tx = static_cast<int>(threadIdx.x) % 16;
    const int ty = static_cast<int>(threadIdx.x) / 16;
    for (int k0 = 0; k0 < tile_keys; k0 += depth_step) {
        __syncthreads();  // the probabilities are there, the values before are done with
        for (int i = static_cast<int>(threadIdx.x); i < depth_step * chunk_columns; i += threads) {
            const int key = i / chunk_columns;
            memory[key * value_pitch + i % chunk_columns] = value(k0 + key, i % chunk_columns);
        }
        __syncthreads();
        if constexpr (kind == Sum::e4m3) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                float part[4][4];
#pragma unroll
                for (int i = 0; i < 16; ++i) {
                    part[i / 4][i % 4] = out[i / 4][half * 4 + i % 4];
                }
                add_e4m3<4, 4>(part, p + k0 * pitch + ty * 4, pitch,
                               memory + tx * columns_each + half * 4, value_pitch);
#pragma unroll
                for (int i = 0; i < 16; ++i) {
                    out[i / 4][half * 4 + i % 4] = part[i / 4][i % 4];
                }
            }
        } else {
#pragma unroll 4
            for (int k = 0; k < depth_step; ++k) {
                T x[4];
                T y[columns_each];
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    x[i] = p[(k0 + k) * pitch + ty * 4 + i];
                }
#pragma unroll
                for (int c = 0; c < columns_each; ++c) {
                    y[c] = memory[k * value_pitch + tx * columns_each + c];
                }
#pragma unroll
                for (int i = 0; i < 4; ++i) {
#pragma unroll
                    for (int c = 0; c < columns_each; ++c) {
                        out[i][c] = add_product<kind>(out[i][c], x[i], y[c]);
                    }
                }
            }
        }
    }
}

/// Bytes of shared memory of a CTA that uses both: values stand where scores had their operands.
template <class T>
constexpr int shared_bytes() {
    return static_cast<int>(sizeof(T)) * (2 * depth_step * pitch + tile_keys * pitch);
}
static_assert(value_pitch <= 2 * pitch);

/// A row of a tile, by its place in the problem.
struct PlacedRow {
    std::int64_t token;  ///< over the batch; -1: the tile has no such row
    std::int32_t head;
    [[nodiscard]] __device__ __forceinline__ std::int64_t index(const Problem& p) const {
        return token * p.heads_q + head;
    }
};
__device__ __forceinline__ PlacedRow place(const Problem& p, const RowTile& tile, int r) {
    if (r >= tile.rows) {
        return {-1, 0};
    }
    const int group = p.heads_q / p.heads_kv;
    const std::int64_t row = tile.first_row + r;
    return {p.start_q[tile.sequence] + row / group,
            tile.head_kv * group + static_cast<std::int32_t>(row % group)};
}

__device__ __forceinline__ std::int64_t slot(const Problem& p, const RowTile& tile,
                                             std::int64_t key) {
    const std::int64_t token = p.start_k[tile.sequence] + key;
    return p.slots != nullptr ? p.slots[token] : token;
}

__device__ __forceinline__ double scale_of(const float* scales, const Problem& p,
                                           const RowTile& tile) {
    return scales != nullptr
               ? static_cast<double>(scales[tile.sequence * p.heads_kv + tile.head_kv])
               : 1.0;
}

}  // namespace raceline::device_gate
