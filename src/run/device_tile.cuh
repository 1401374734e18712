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
inline constexpr int depth_step = 32;  // channels or keys in shared memory at a time
/// Elements from one channel to the next: rows of a warp's stores fall on banks of their own, and a
/// thread's four stay aligned to 16 bytes.
template <class T>
inline constexpr int pitch = sizeof(T) == sizeof(double) ? 66 : 68;
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

/// Adding 2^10 times the leading one of `largest` to a number that is no larger, toward zero, cuts
/// it 13 bits below that.
__device__ __forceinline__ float cutter(float largest) {
    return __uint_as_float(__float_as_uint(largest) & 0x7F800000U) * 1024.0F;
}
__device__ __forceinline__ float cut(float x, float cutter) {
    return copysignf(__fadd_rz(fabsf(x), cutter) - cutter, x);
}
/// Sums that go through the tensor core with nothing to add.
template <int rows, int columns>
__device__ __forceinline__ void cut_again(float (&sums)[rows][columns]) {
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
        for (int j = 0; j < columns; ++j) {
            sums[i][j] = cut(sums[i][j], cutter(fabsf(sums[i][j])));
        }
    }
}

/// Calls `take` with row, column and product of every a[t] · b[t], one t after another. `pa`, `pb`:
/// the first element of each operand, `step_a`, `step_b` apart.
template <int rows, int columns, class Take>
__device__ __forceinline__ void each_product(const float* pa, int step_a, const float* pb,
                                             int step_b, const Take& take) {
#pragma unroll 4
    for (int t = 0; t < depth_step; ++t) {
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            const float a = pa[t * step_a + i];
#pragma unroll
            for (int j = 0; j < columns; ++j) {
                take(i, j, a * pb[t * step_b + j]);
            }
        }
    }
}

/// sums += a[t] · b[t] over 32 terms as Hopper's tensor core adds products of e4m3
/// (workload/rounded_sum.hpp): all are cut 13 bits below the leading one of the largest.
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
    each_product<rows, columns>(pa, step_a, pb, step_b, [&](int i, int j, float product) {
        unit[i][j] = fmaxf(unit[i][j], fabsf(product));
    });
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
        for (int j = 0; j < columns; ++j) {
            unit[i][j] = cutter(unit[i][j]);
            sums[i][j] = cut(sums[i][j], unit[i][j]);
        }
    }
    each_product<rows, columns>(pa, step_a, pb, step_b, [&](int i, int j, float product) {
        sums[i][j] += cut(product, unit[i][j]);
    });
}

/// A row or key of this thread's: it copies 8 channels of one of 64 at a time.
struct Copied {
    const float* from;  ///< its first channel; null: it does not exist, and is 0
    [[nodiscard]] __device__ __forceinline__ float4 four(int channel) const {
        return from == nullptr ? make_float4(0, 0, 0, 0)
                               : *reinterpret_cast<const float4*>(from + channel);
    }
};
/// Which of 64 rows, and which four channels of 16, this thread copies.
__device__ __forceinline__ int copied_row() {
    return static_cast<int>(threadIdx.x) / 4;
}
__device__ __forceinline__ int copied_channel() {
    return static_cast<int>(threadIdx.x) % 4 * 4;
}

template <class T>
__device__ __forceinline__ void store_four(T* to, int channel, const float4& x) {
    to[channel * pitch<T>] = static_cast<T>(x.x);
    to[(channel + 1) * pitch<T>] = static_cast<T>(x.y);
    to[(channel + 2) * pitch<T>] = static_cast<T>(x.z);
    to[(channel + 3) * pitch<T>] = static_cast<T>(x.w);
}

/// s[i][j] = sum over `depth` channels (a multiple of 32) of row ty·4 + i times key tx·4 + j. `row`
/// and `key` are those that this thread copies. `memory` holds 2 · depth_step · pitch elements.
template <Sum kind, class T>
__device__ __forceinline__ void score_tile(T (&s)[4][4], int depth, const Copied& row,
                                           const Copied& key, T* memory) {
    T* const a = memory;
    T* const b = memory + depth_step * pitch<T>;
    const int tx = static_cast<int>(threadIdx.x) % 16;
    const int ty = static_cast<int>(threadIdx.x) / 16;
    const int channel = copied_channel();
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        s[i / 4][i % 4] = 0;
    }
    // What comes next is on its way while this is multiplied.
    float4 next[4] = {row.four(channel), row.four(channel + 16), key.four(channel),
                      key.four(channel + 16)};
    for (int c0 = 0; c0 < depth; c0 += depth_step) {
        __syncthreads();  // what stands there is done with
        store_four(a + copied_row(), channel, next[0]);
        store_four(a + copied_row(), channel + 16, next[1]);
        store_four(b + copied_row(), channel, next[2]);
        store_four(b + copied_row(), channel + 16, next[3]);
        __syncthreads();
        if (const int c1 = c0 + depth_step; c1 < depth) {
            next[0] = row.four(c1 + channel);
            next[1] = row.four(c1 + channel + 16);
            next[2] = key.four(c1 + channel);
            next[3] = key.four(c1 + channel + 16);
        }
        if constexpr (kind == Sum::e4m3) {
            add_e4m3<4, 4>(s, a + ty * 4, pitch<T>, b + tx * 4, pitch<T>);
        } else {
#pragma unroll 4
            for (int c = 0; c < depth_step; ++c) {
                T x[4];
                T y[4];
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    x[i] = a[c * pitch<T> + ty * 4 + i];
                    y[i] = b[c * pitch<T> + tx * 4 + i];
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

/// Values of 32 keys and 128 columns on their way: 16 columns of one key a thread.
struct CopiedValues {
    float4 four[4];
    /// `from`: the key's value at the chunk's first column; null: it does not exist. `columns`:
    /// that there are.
    __device__ __forceinline__ void load(const float* from, int columns) {
        const int first = static_cast<int>(threadIdx.x) % 8 * 16;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            four[i] = from != nullptr && first + i * 4 < columns
                          ? *reinterpret_cast<const float4*>(from + first + i * 4)
                          : make_float4(0, 0, 0, 0);
        }
    }
    template <class T>
    __device__ __forceinline__ void store(T* memory) const {
        T* const to = memory + static_cast<int>(threadIdx.x) / 8 * value_pitch +
                      static_cast<int>(threadIdx.x) % 8 * 16;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            to[i * 4] = static_cast<T>(four[i].x);
            to[i * 4 + 1] = static_cast<T>(four[i].y);
            to[i * 4 + 2] = static_cast<T>(four[i].z);
            to[i * 4 + 3] = static_cast<T>(four[i].w);
        }
    }
};

/// out[i][c] += sum over 64 keys of p(key, ty·4 + i) · value(key, tx·8 + c). p: (64, pitch) in
/// shared memory; `value_of(key)` is the address of a key's value at the chunk's first column, or
/// null; `memory` holds depth_step · value_pitch elements.
template <Sum kind, class T, class ValueOf>
__device__ __forceinline__ void value_tile(T (&out)[4][columns_each], const T* p,
                                           const ValueOf& value_of, int columns, T* memory) {
    const int tx = static_cast<int>(threadIdx.x) % 16;
    const int ty = static_cast<int>(threadIdx.x) / 16;
    const int key = static_cast<int>(threadIdx.x) / 8;
    CopiedValues next;
    next.load(value_of(key), columns);
#pragma unroll 1
    for (int k0 = 0; k0 < tile_keys; k0 += depth_step) {
        __syncthreads();  // the probabilities are there, the values before are done with
        next.store(memory);
        __syncthreads();
        if (k0 + depth_step < tile_keys) {
            next.load(value_of(k0 + depth_step + key), columns);
        }
        if constexpr (kind == Sum::e4m3) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                float part[4][4];
#pragma unroll
                for (int i = 0; i < 16; ++i) {
                    part[i / 4][i % 4] = out[i / 4][half * 4 + i % 4];
                }
                add_e4m3<4, 4>(part, p + k0 * pitch<T> + ty * 4, pitch<T>,
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
                    x[i] = p[(k0 + k) * pitch<T> + ty * 4 + i];
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
    return static_cast<int>(sizeof(T)) * (2 * depth_step * pitch<T> + tile_keys * pitch<T>);
}
static_assert(value_pitch <= 2 * pitch<double>);

/// A row of a tile, by its place in the problem.
struct PlacedRow {
    std::int64_t token;  ///< over the batch; -1: the tile has no such row
    std::int32_t head;
    [[nodiscard]] __device__ __forceinline__ std::int64_t index(const DrawnCall& p) const {
        return token * p.heads_q + head;
    }
};
__device__ __forceinline__ PlacedRow place(const DrawnCall& p, const RowTile& tile, int r) {
    if (r >= tile.rows) {
        return {-1, 0};
    }
    const int group = p.heads_q / p.heads_kv;
    const std::int64_t row = tile.first_row + r;
    return {p.start_q[tile.sequence] + row / group,
            tile.head_kv * group + static_cast<std::int32_t>(row % group)};
}

/// First row of the tile's sequence and KV head in Operands, and its first key.
__device__ __forceinline__ std::int64_t first_row(const DrawnCall& p, const RowTile& tile) {
    const std::int64_t length = p.start_q[tile.sequence + 1] - p.start_q[tile.sequence];
    return p.start_q[tile.sequence] * p.heads_q + tile.head_kv * length * (p.heads_q / p.heads_kv);
}
__device__ __forceinline__ std::int64_t first_key(const DrawnCall& p, const RowTile& tile) {
    const std::int64_t length = p.start_k[tile.sequence + 1] - p.start_k[tile.sequence];
    return p.start_k[tile.sequence] * p.heads_kv + tile.head_kv * length;
}

__device__ __forceinline__ double scale_of(const float* scales, const DrawnCall& p,
                                           const RowTile& tile) {
    return scales != nullptr
               ? static_cast<double>(scales[tile.sequence * p.heads_kv + tile.head_kv])
               : 1.0;
}
/// Of the key at a place of Operands.
__device__ __forceinline__ double scale_of_key(const float* scales, std::int64_t at) {
    return scales != nullptr ? static_cast<double>(scales[at]) : 1.0;
}

}  // namespace raceline::device_gate
