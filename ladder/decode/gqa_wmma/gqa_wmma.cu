// SPDX-License-Identifier: Apache-2.0
// gqa with both products on WMMA: sixteen rows of the group against sixteen keys at a time, each of
// the four warps with keys of its own. Scores go through shared memory to become probabilities:
// WMMA does not say which element of a fragment a lane holds.
#include <mma.h>

#include "ladder/decode/gqa/gqa.cuh"
#include "ladder/decode/gqa_wmma/gqa_wmma.hpp"

namespace raceline::kernels::gqa_wmma {

using namespace decode;

using Left =
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major>;
using Keys =
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::col_major>;
using Values =
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::row_major>;
using Sums = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;

// A warp's own shared memory. The pitch keeps the rows that are touched at once on distinct banks.
struct Scratch {
    float scores[16 * scratch_pitch];
    float factors[16];
    __half probabilities[16 * scratch_pitch];
};

// Which row of the sixteen each of this lane's eight sums belongs to: a matrix that says so is
// loaded to find out.
inline __device__ void ask_rows(Scratch& mine, int (&row_of)[8]) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    for (int i = lane; i < 256; i += 32) {
        mine.scores[i / 16 * scratch_pitch + i % 16] = static_cast<float>(i / 16);
    }
    __syncwarp();
    Sums rows;
    nvcuda::wmma::load_matrix_sync(rows, mine.scores, scratch_pitch, nvcuda::wmma::mem_row_major);
    for (int i = 0; i < 8; ++i) {
        row_of[i] = static_cast<int>(rows.x[i]);
    }
}

// Two lanes have a row between them, eight keys each. Scores become probabilities; what was summed
// before is to be multiplied by the row's factor.
inline __device__ void softmax(Scratch& mine, float unit, int keys, float& highest, float& sum) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int at = lane / 2 * scratch_pitch + lane % 2 * 4;
    float score[8];
    float top = highest;
    for (int i = 0; i < 8; i += 4) {
        *reinterpret_cast<float4*>(score + i) =
            *reinterpret_cast<const float4*>(mine.scores + at + 2 * i);
    }
    for (int i = 0; i < 8; ++i) {
        const int key = lane % 2 * 4 + i / 4 * 8 + i % 4;
        score[i] = key < keys ? score[i] * unit : lowest;
        top = fmaxf(top, score[i]);
    }
    top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFU, top, 1));
    const float keep = ptx::ex2_approx_ftz_f32(highest - top);
    highest = top;
    sum *= keep;
    for (int i = 0; i < 8; i += 2) {
        const float2 p = make_float2(ptx::ex2_approx_ftz_f32(score[i] - top),
                                     ptx::ex2_approx_ftz_f32(score[i + 1] - top));
        sum += p.x + p.y;
        *reinterpret_cast<__half2*>(mine.probabilities + at + i / 4 * 8 + i % 4) =
            __floats2half2_rn(p.x, p.y);
    }
    mine.factors[lane / 2] = keep;
}

namespace {

// `row_warps` warps, one or two, share sixteen keys,
// and each sees another sixteen rows of the group.
template <int d>
__global__ void __launch_bounds__(threads, 2)
    partial(const __grid_constant__ AttentionArgs a, int row_warps, int keys_per_split,
            float* parts) {
    extern __shared__ __align__(32) uint4 memory[];  // as WMMA asks
    constexpr int slices = d / 16;
    constexpr int most = tile_keys(d);
    constexpr int pitch = pitch_of(d);
    const gqa::Share at(a, row_warps);
    auto* tile_k = reinterpret_cast<__half*>(memory);
    __half* tile_v = tile_k + most * pitch;
    Scratch& mine = reinterpret_cast<Scratch*>(tile_v + most * pitch)[at.warp];
    const paged::Cache<__half> cache(a, at.block.z, at.block.x);

    // Q by way of the stage. A row past the group is computed for nothing and not written.
    for (int i = static_cast<int>(threadIdx.x); i < 16 * row_warps * d / 8; i += threads) {
        *reinterpret_cast<uint4*>(tile_k + i / (d / 8) * pitch + i % (d / 8) * 8) =
            load_16(at.query<__half>(a, i / (d / 8)) + i % (d / 8) * 8);
    }
    __syncthreads();
    Left q[slices];
    Sums out[slices];
    for (int c = 0; c < slices; ++c) {
        nvcuda::wmma::load_matrix_sync(q[c], tile_k + at.row_warp * 16 * pitch + c * 16, pitch);
        nvcuda::wmma::fill_fragment(out[c], 0.0F);
    }
    int row_of[8];
    ask_rows(mine, row_of);
    float highest = lowest, sum = 0;  // of row lane / 2; the sum of this lane's keys

    const int first = static_cast<int>(at.block.y) * keys_per_split;
    const int last = min(first + keys_per_split, cache.length);
    for (int from = first; from < last; from += most) {
        const int keys = min(most, last - from);
        __syncthreads();  // Q or the tile before is consumed
        stage_blocks<d, 8, most, 16>(
            cache, from, keys, [&](int to, int chunk, uint4 raw_k, uint4 raw_v) {
                *reinterpret_cast<uint4*>(tile_k + to * pitch + chunk) = raw_k;
                *reinterpret_cast<uint4*>(tile_v + to * pitch + chunk) = raw_v;
            });
        __syncthreads();
#pragma unroll 1
        for (int key = at.key_warp * 16; key < keys; key += at.key_warps * 16) {
            Sums score;
            nvcuda::wmma::fill_fragment(score, 0.0F);
            for (int c = 0; c < slices; ++c) {
                Keys right;
                nvcuda::wmma::load_matrix_sync(right, tile_k + key * pitch + c * 16, pitch);
                nvcuda::wmma::mma_sync(score, q[c], right, score);
            }
            nvcuda::wmma::store_matrix_sync(mine.scores, score, scratch_pitch,
                                            nvcuda::wmma::mem_row_major);
            __syncwarp();
            softmax(mine, a.scale * log2_e, keys - key, highest, sum);
            __syncwarp();
            Left p;
            nvcuda::wmma::load_matrix_sync(p, mine.probabilities, scratch_pitch);
            float factor[8];
            for (int i = 0; i < 8; ++i) {
                factor[i] = mine.factors[row_of[i]];
            }
            for (int c = 0; c < slices; ++c) {
                Values right;
                nvcuda::wmma::load_matrix_sync(right, tile_v + key * pitch + c * 16, pitch);
                for (int i = 0; i < 8; ++i) {
                    out[c].x[i] *= factor[i];
                }
                nvcuda::wmma::mma_sync(out[c], p, right, out[c]);
            }
        }
    }
    auto* all = reinterpret_cast<float*>(memory);
    float* own = all + at.warp * 16 * part_floats(d);
    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1);
    __syncthreads();
    for (int c = 0; c < slices; ++c) {
        nvcuda::wmma::store_matrix_sync(own + c * 16, out[c], part_floats(d),
                                        nvcuda::wmma::mem_row_major);
    }
    own[at.lane / 2 * part_floats(d) + d] = highest;
    own[at.lane / 2 * part_floats(d) + d + 1] = sum;
    __syncthreads();
    for (int r = at.warp; r < at.group; r += warps) {
        Part<d / 32> whole;
        for (int from = 0; from < at.key_warps; ++from) {
            Part<d / 32> other;
            other.read(all + (from * at.row_warps * 16 + r) * part_floats(d));
            whole.merge(other);
        }
        gqa::leave<__half>(a, at, r, whole, parts);
    }
}

}  // namespace
void launch(const AttentionArgs& a, int tile, const Device& device, void* workspace, void* stream) {
    const Launch call = cut("gqa_wmma", a, layout_of, tiles.at(tile), device, workspace, stream);
    with_call<__half>(call, [&](auto, auto d) {
        call.enqueue_heads(a.heads_kv, partial<d()>, merge<__half, d()>,
                           row_warps_of(a.heads_q / a.heads_kv));
    });
}

}  // namespace raceline::kernels::gqa_wmma
