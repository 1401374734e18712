// SPDX-License-Identifier: Apache-2.0
// Partial answers of attention and how they merge: inside a CTA, and in the second launch. A lane
// has 16 of the 512 value columns: eight of the first half and eight of the second, so that what
// a warp reads at once is 512 bytes in a row.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <cuda_fp16.h>

#include "gpu/ptx/ex2_approx_ftz_f32.cuh"
#include "ladder/mla/tile.hpp"

namespace raceline::kernels::mla {
namespace {

constexpr float log2_e = 1.4426950408889634F;
constexpr float ln_2 = 0.6931471805599453F;
constexpr float lowest = -3e38F;     // below every score, and finite: no infinity minus infinity
constexpr int values = latent / 32;  // of a lane

// Where piece `i`, of two, of this lane's columns starts.
__device__ int piece(int i) {
    return i * (latent / 2) + static_cast<int>(threadIdx.x % 32) * 8;
}

// Eight elements that are read or written at once.
__device__ void load(const __half* from, float* to) {
    const uint4 raw = *reinterpret_cast<const uint4*>(from);
    const std::uint32_t pairs[4] = {raw.x, raw.y, raw.z, raw.w};
    for (int i = 0; i < 4; ++i) {
        const __half2_raw two{static_cast<std::uint16_t>(pairs[i]),
                              static_cast<std::uint16_t>(pairs[i] >> 16)};
        const float2 x = __half22float2(two);
        to[2 * i] = x.x;
        to[2 * i + 1] = x.y;
    }
}
__device__ void store(__half* to, const float* from, float factor) {
    __half2 pairs[4];
    for (int i = 0; i < 4; ++i) {
        pairs[i] = __floats2half2_rn(from[2 * i] * factor, from[2 * i + 1] * factor);
    }
    uint4 raw;
    memcpy(&raw, pairs, sizeof(raw));
    *reinterpret_cast<uint4*>(to) = raw;
}

// What some keys say about a row: the highest score (in units of log2), the sum of exponentials
// relative to it, and this lane's outputs weighted alike. A key is one, and so is what a warp, a
// CTA or all splits have seen: they all merge.
struct Part {
    float highest = lowest, sum = 0;
    float out[values] = {};

    __device__ void merge(const Part& other) {
        const float common = fmaxf(highest, other.highest);
        const float mine = ptx::ex2_approx_ftz_f32(highest - common);
        const float theirs = ptx::ex2_approx_ftz_f32(other.highest - common);
        highest = common;
        sum = sum * mine + other.sum * theirs;
        for (int i = 0; i < values; ++i) {
            out[i] = out[i] * mine + other.out[i] * theirs;
        }
    }
    // In memory: every lane's outputs, then maximum and sum.
    __device__ void read(const float* from) {
        for (int i = 0; i < values; i += 4) {
            const float4 four = *reinterpret_cast<const float4*>(from + piece(i / 8) + i % 8);
            out[i] = four.x;
            out[i + 1] = four.y;
            out[i + 2] = four.z;
            out[i + 3] = four.w;
        }
        highest = from[latent];
        sum = from[latent + 1];
    }
    __device__ void write(float* to) const {
        for (int i = 0; i < values; i += 4) {
            *reinterpret_cast<float4*>(to + piece(i / 8) + i % 8) =
                make_float4(out[i], out[i + 1], out[i + 2], out[i + 3]);
        }
        to[latent] = highest;
        to[latent + 1] = sum;
    }
};

__device__ void finish(const AttentionArgs& a, int batch, int head, const Part& row) {
    const float factor = row.sum > 0 ? 1 / row.sum : 0;  // no keys: 0
    __half* to =
        static_cast<__half*>(a.out.data) + batch * a.out.batch_stride + head * a.out.head_stride;
    store(to + piece(0), row.out, factor);
    store(to + piece(1), row.out + 8, factor);
    if (threadIdx.x % 32 == 0 && a.lse != nullptr) {
        a.lse[batch * a.lse_batch_stride + head * a.lse_head_stride] =
            row.sum > 0 ? (row.highest + log2f(row.sum)) * ln_2 : -INFINITY;
    }
}

// One CTA a row; its warps take the row's parts in turn. Grid: x over query heads, y batch.
__global__ void __launch_bounds__(threads)
    merge(const __grid_constant__ AttentionArgs a, int splits, const float* parts) {
    __shared__ float4 memory[warps * part_floats / 4];
    const int head = static_cast<int>(blockIdx.x);
    const int batch = static_cast<int>(blockIdx.y);
    const int warp = static_cast<int>(threadIdx.x / 32);
    const float* mine = parts + (std::int64_t{batch} * a.heads_q + head) * splits * part_floats;
    constexpr int group = 2;  // parts that a warp reads at once
    Part row;
    for (int split = warp; split < splits; split += group * warps) {
        Part others[group];
        for (int j = 0; j < group; ++j) {
            others[j].read(mine + min(split + j * warps, splits - 1) * part_floats);
        }
        for (int j = 0; j < group; ++j) {
            if (split + j * warps >= splits) {
                others[j].highest = lowest;  // read again, but weighs nothing
            }
            row.merge(others[j]);
        }
    }
    auto* all = reinterpret_cast<float*>(memory);
    row.write(all + warp * part_floats);
    __syncthreads();
    for (int from = 1; warp == 0 && from < warps; ++from) {
        Part other;
        other.read(all + from * part_floats);
        row.merge(other);
    }
    if (warp == 0) {
        finish(a, batch, head, row);
    }
}

}  // namespace
}  // namespace raceline::kernels::mla
