// SPDX-License-Identifier: Apache-2.0
// The kernel: packed query rows against a range of keys, online softmax, CUDA cores only.
//
// A lane holds rows_per_lane rows (4 apart) and, of each, the scores of keys_per_lane keys (8
// apart) and a slice of v_width / 8 outputs: the eight lanes of a row group share its rows. Scores
// of a warp go through shared memory to meet V; no other warp reads them.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "gpu/ptx/approx_ftz_f32.cuh"
#include "gpu/tile/base_two.cuh"
#include "kernels/simt/index.hpp"
#include "kernels/simt/storage.cuh"
#include "kernels/simt/tile.hpp"
#include "workload/seen_keys.hpp"

namespace raceline::kernels::simt {

/// Where this CTA stands in the call; the same for all its threads.
struct Place {
    Block block;
    Band band;
    std::int32_t start_q, start_k;  ///< of a packed sequence, in tokens
    std::int32_t first_row, rows;   ///< packed rows of this CTA: the first, and how many exist
    Keys keys;
};

template <Tile tile>
struct Lane {
    static constexpr int rows = tile.rows_per_lane();
    int row_warp, key_warp, group, member;  ///< group 0 … 3, member 0 … 7 of a warp
    __device__ __forceinline__ Lane()
        : row_warp(static_cast<int>(threadIdx.x / 32) / tile.key_warps),
          key_warp(static_cast<int>(threadIdx.x / 32) % tile.key_warps),
          group(static_cast<int>(threadIdx.x % 32) / 8),
          member(static_cast<int>(threadIdx.x) % 8) {}
    /// Row in the CTA's tile of this lane's i-th row.
    __device__ __forceinline__ int row(int i) const { return row_warp * 4 * rows + i * 4 + group; }
};

/// Shared memory of a CTA, carved from one dynamic block.
struct Shared {
    float *q, *k, *v, *p;
    int pitch_v;
};

template <Tile tile, int v_width>
__device__ __forceinline__ Shared carve(float* memory, const Params& p) {
    Shared s{};
    s.q = memory;
    s.k = s.q + tile.rows * p.pitch;
    s.v = p.shared_kv ? s.k : s.k + tile.keys * p.pitch;
    s.pitch_v = p.shared_kv ? p.pitch : v_width;
    s.p = s.k + tile.keys * p.pitch + (p.shared_kv ? 0 : tile.keys * v_width);
    return s;
}

template <class Params>
inline constexpr bool has_tree = std::is_same_v<Params, TreeParams>;

/// What tells a row's keys where the arguments have a tree.
template <int rows, class Params>
struct TreeRows {};
template <int rows, class Params>
    requires has_tree<Params>
struct TreeRows<rows, Params> {
    std::int32_t first_new;  ///< key of the sequence's first new token; negative in a short cache
    std::uint32_t word[rows];

    [[nodiscard]] __device__ __forceinline__ bool sees(int i, int key) const {
        return key < first_new || bit_is_set(word[i], key - first_new);
    }
};

/// Online softmax of a lane's rows. The sum is of this lane's keys only until the finish.
template <Tile tile, int v_width, class Params = simt::Params>
struct State {
    static constexpr int rows = tile.rows_per_lane();
    static constexpr int quads = v_width / 32;
    float4 out[rows][quads];
    float maximum[rows];  ///< of all keys so far, in units of log2
    float sum[rows];
    Keys visible[rows];
    [[no_unique_address]] TreeRows<rows, Params> tree;

    __device__ __forceinline__ State(const Params& p, const Place& at, const Lane<tile>& lane) {
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            maximum[i] = -INFINITY;
            sum[i] = 0;
#pragma unroll
            for (int c = 0; c < quads; ++c) {
                out[i][c] = make_float4(0, 0, 0, 0);
            }
            // A row past the end sees nothing; the CTA's own range ends every other row's.
            visible[i] = {0, 0};
            if (lane.row(i) < at.rows) {
                const Keys row = at.band.visible((at.first_row + lane.row(i)) / p.group);
                visible[i] = {max(row.first, at.keys.first), min(row.last, at.keys.last)};
            }
        }
        if constexpr (has_tree<Params>) {
            const AttentionArgs& a = p.args;
            const std::int64_t start = a.cu_seqlens_q != nullptr
                                           ? at.start_q
                                           : std::int64_t{at.block.sequence} * a.seqlen_q;
            tree.first_new = at.band.length_k - at.band.length_q;
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                const int query = (at.first_row + lane.row(i)) / p.group;
                tree.word[i] = lane.row(i) < at.rows ? p.tree[start + query] : 0;
            }
        }
    }
};

template <Tile tile>
__device__ __forceinline__ Place locate(const Params& p) {
    const AttentionArgs& a = p.args;
    Place at{};
    at.block =
        block_of(static_cast<std::int32_t>(blockIdx.x), p.row_tiles, p.splits, a.heads_kv, a.batch);
    const int b = at.block.sequence;
    at.start_q = a.cu_seqlens_q != nullptr ? a.cu_seqlens_q[b] : 0;
    at.start_k = a.cu_seqlens_k != nullptr ? a.cu_seqlens_k[b] : 0;
    at.band.length_q = a.cu_seqlens_q != nullptr ? a.cu_seqlens_q[b + 1] - at.start_q : a.seqlen_q;
    at.band.length_k = a.seqlens_k != nullptr      ? a.seqlens_k[b]
                       : a.cu_seqlens_k != nullptr ? a.cu_seqlens_k[b + 1] - at.start_k
                                                   : a.seqlen_k;
    at.band.left = a.window_left;
    at.band.right = a.window_right;
    at.first_row = at.block.row_tile * tile.rows;
    at.rows = min(tile.rows, at.band.length_q * p.group - at.first_row);
    if (at.rows > 0) {
        const Keys all =
            at.band.visible(at.first_row / p.group, (at.first_row + at.rows - 1) / p.group);
        at.keys = split_keys(all, at.block.split, p.splits, tile.keys);
    }
    return at;
}

__device__ __forceinline__ const char* sequence_base(const TensorArg& t, const Place& at, int start,
                                                     bool packed, int head, DType dtype) {
    const std::int64_t element =
        (packed ? start * t.seq_stride : at.block.sequence * t.batch_stride) + head * t.head_stride;
    return static_cast<const char*>(t.data) + (element << size_shift(dtype));
}

__device__ __forceinline__ QueryRows query_rows(const Params& p, const Place& at) {
    const AttentionArgs& a = p.args;
    const int shift = size_shift(a.dtype);
    return {sequence_base(a.q, at, at.start_q, a.cu_seqlens_q != nullptr,
                          at.block.head_kv * p.group, a.dtype),
            a.q.seq_stride << shift, a.q.head_stride << shift, p.group, at.first_row};
}

__device__ __forceinline__ CacheRows cache_rows(const Params& p, const Place& at,
                                                const TensorArg& t, int first) {
    const AttentionArgs& a = p.args;
    const int shift = size_shift(a.kv_dtype);
    CacheRows rows{};
    rows.row_bytes = t.seq_stride << shift;
    rows.page_size = a.page_size;
    rows.page_shift = p.page_shift;
    rows.first = first;
    if (a.block_table == nullptr) {
        rows.base = sequence_base(t, at, at.start_k, a.cu_seqlens_k != nullptr, at.block.head_kv,
                                  a.kv_dtype);
        return rows;
    }
    rows.base = static_cast<const char*>(t.data) + ((at.block.head_kv * t.head_stride) << shift);
    rows.pages = a.block_table + at.block.sequence * a.block_table_stride;
    rows.page_bytes = t.batch_stride << shift;
    return rows;
}

template <Tile tile, int v_width>
__device__ __forceinline__ void load_tile(const Params& p, const Place& at, const Shared& s,
                                          int first) {
    const AttentionArgs& a = p.args;
    const int valid = min(tile.keys, at.keys.last - first);
    stage<tile.threads, tile.keys, load_batch(tile, v_width)>(
        {s.k, p.pitch, p.depth, a.headdim, valid, a.kv_dtype, p.chunked_k},
        cache_rows(p, at, a.k, first));
    if (!p.shared_kv) {
        stage<tile.threads, tile.keys, load_batch(tile, v_width)>(
            {s.v, v_width, v_width, a.headdim_v, valid, a.kv_dtype, p.chunked_v},
            cache_rows(p, at, a.v, first));
    }
}

__device__ __forceinline__ float dot(float4 a, float4 b, float sum) {
    return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
}

/// Raw products Q·K of this lane's rows and keys.
template <Tile tile>
__device__ __forceinline__ void scores(const Params& p, const Shared& s, const Lane<tile>& lane,
                                       float (&score)[Lane<tile>::rows][tile.keys_per_lane()]) {
    constexpr int rows = Lane<tile>::rows;
    constexpr int keys = tile.keys_per_lane();
    const float* q = s.q + lane.row(0) * p.pitch;
    const float* k = s.k + (lane.key_warp * tile.keys_per_warp() + lane.member) * p.pitch;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
        for (int j = 0; j < keys; ++j) {
            score[i][j] = 0;
        }
    }
#pragma unroll 2
    for (int d = 0; d < p.depth; d += 4) {
        float4 qd[rows];
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            qd[i] = *reinterpret_cast<const float4*>(q + i * 4 * p.pitch + d);
        }
#pragma unroll
        for (int j = 0; j < keys; ++j) {
            const float4 kd = *reinterpret_cast<const float4*>(k + j * 8 * p.pitch + d);
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                score[i][j] = dot(qd[i], kd, score[i][j]);
            }
        }
    }
}

/// Turns products into probabilities in shared memory and rescales what was summed before.
template <Tile tile, int v_width, class Params>
__device__ __forceinline__ void softmax(const Params& p, float k_scale, const Shared& s,
                                        const Lane<tile>& lane, int first,
                                        float (&score)[Lane<tile>::rows][tile.keys_per_lane()],
                                        State<tile, v_width, Params>& state) {
    constexpr int keys = tile.keys_per_lane();
    const float natural = p.args.scale * k_scale;
    const float cap = p.args.softcap;
    const float unit = (cap > 0 ? cap : natural) * log2_e;
    const int first_key = first + lane.key_warp * tile.keys_per_warp() + lane.member;
#pragma unroll
    for (int i = 0; i < Lane<tile>::rows; ++i) {
        float highest = state.maximum[i];
#pragma unroll
        for (int j = 0; j < keys; ++j) {
            const int key = first_key + j * 8;
            bool seen = key >= state.visible[i].first && key < state.visible[i].last;
            if constexpr (has_tree<Params>) {
                seen = seen && state.tree.sees(i, key);
            }
            if (cap > 0) {
                score[i][j] = tanhf(score[i][j] * natural / cap);
            }
            highest = seen ? fmaxf(highest, score[i][j] * unit) : highest;
        }
        for (int lanes = 1; lanes < 8; lanes *= 2) {
            highest = fmaxf(highest, __shfl_xor_sync(0xFFFFFFFFU, highest, lanes));
        }
        // A row that has seen no key keeps -inf; subtracting 0 instead avoids inf - inf.
        const float base = highest == -INFINITY ? 0.0F : highest;
        const float keep = ptx::ex2_approx_ftz_f32(state.maximum[i] - base);
        state.maximum[i] = highest;
        state.sum[i] *= keep;
        float* to = s.p + (lane.key_warp * tile.rows + lane.row(i)) * tile.probability_pitch();
#pragma unroll
        for (int j = 0; j < keys; ++j) {
            const int key = first_key + j * 8;
            bool seen = key >= state.visible[i].first && key < state.visible[i].last;
            if constexpr (has_tree<Params>) {
                seen = seen && state.tree.sees(i, key);
            }
            const float x = seen ? ptx::ex2_approx_ftz_f32(fmaf(score[i][j], unit, -base)) : 0.0F;
            state.sum[i] += x;
            to[lane.member + j * 8] = x;
        }
#pragma unroll
        for (float4& o : state.out[i]) {
            o = make_float4(o.x * keep, o.y * keep, o.z * keep, o.w * keep);
        }
    }
}

__device__ __forceinline__ float4 add_scaled(float4 sum, float x, float4 v) {
    return make_float4(fmaf(x, v.x, sum.x), fmaf(x, v.y, sum.y), fmaf(x, v.z, sum.z),
                       fmaf(x, v.w, sum.w));
}

/// Adds P·V of this warp's keys to the lane's slice of the outputs.
template <Tile tile, int v_width, class Params>
__device__ __forceinline__ void accumulate(const Shared& s, const Lane<tile>& lane,
                                           State<tile, v_width, Params>& state) {
    constexpr int rows = Lane<tile>::rows;
    const float* p = s.p + (lane.key_warp * tile.rows + lane.row(0)) * tile.probability_pitch();
    const float* v = s.v + lane.key_warp * tile.keys_per_warp() * s.pitch_v + lane.member * 4;
#pragma unroll 1
    for (int n = 0; n < tile.keys_per_warp(); n += 4) {
        float x[rows][4];
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            const float4 four =
                *reinterpret_cast<const float4*>(p + i * 4 * tile.probability_pitch() + n);
            x[i][0] = four.x;
            x[i][1] = four.y;
            x[i][2] = four.z;
            x[i][3] = four.w;
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) {
#pragma unroll
            for (int c = 0; c < v_width / 32; ++c) {
                const float4 vd =
                    *reinterpret_cast<const float4*>(v + (n + e) * s.pitch_v + c * 32);
#pragma unroll
                for (int i = 0; i < rows; ++i) {
                    state.out[i][c] = add_scaled(state.out[i][c], x[i][e], vd);
                }
            }
        }
    }
}

}  // namespace raceline::kernels::simt
