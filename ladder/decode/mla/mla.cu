// SPDX-License-Identifier: Apache-2.0
// gqa on a latent cache: all query heads share one row a token, 512 columns that are key and value
// and 64 that are key alone. It is read once, from global memory by the CTA and from shared memory
// by a warp: the floats of a key's dot product are those of its value. A CTA has up to 32 heads, a
// warp up to four; the warps that heads leave over divide the keys.
#include <cstdint>
#include <cuda_fp16.h>

#include "ladder/decode/mla/mla.hpp"
#include "ladder/decode/paged/paged.cuh"

namespace raceline::kernels::mla {

using namespace decode;

// Eight elements that are read at once.
inline __device__ void load_8(const __half* from, float* to) {
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

// Rows `first` … of the latent to shared memory, 16 bytes a load. A thread's six loads are all
// under way before the first is stored. Past the last of `keys` rows that one is loaded again.
inline __device__ void stage(__half* tile, const TensorArg& from, const paged::Pages& pages,
                             int first, int keys) {
    constexpr int chunks = width / 8;  // of a row
    constexpr int batch = 6;
    static_assert(tile_keys * chunks % (threads * batch) == 0);
#pragma unroll 1
    for (int at = static_cast<int>(threadIdx.x); at < keys * chunks; at += threads * batch) {
        uint4 raw[batch];
        for (int j = 0; j < batch; ++j) {
            const int row = (at + j * threads) / chunks;
            const int chunk = (at + j * threads) % chunks;
            const int token = first + min(row, keys - 1);
            raw[j] = load_16(
                static_cast<const __half*>(from.data) + pages.page(token) * from.batch_stride +
                std::int64_t{pages.slot(token)} * static_cast<int>(from.seq_stride) + chunk * 8);
        }
        for (int j = 0; j < batch; ++j) {
            *reinterpret_cast<uint4*>(tile + (at + j * threads) * 8) = raw[j];
        }
    }
}

// A lane's slice of a row of Q or of the latent: 16 columns of the 512, then two of the 64.
constexpr int values = latent / 32;  // of a lane
constexpr int slice = values + rope / 32;
inline __device__ void load_slice(const __half* row, float (&to)[slice]) {
    load_8(row + column_of<values>(0), to);
    load_8(row + column_of<values>(8), to + 8);
    const float2 two =
        __half22float2(*reinterpret_cast<const __half2*>(row + latent + threadIdx.x % 32 * 2));
    to[values] = two.x;
    to[values + 1] = two.y;
}

// What the key warps know of a row meets in shared memory; a warp merges and writes each row.
template <int rows>
__device__ void write_rows(const AttentionArgs& a, float* all, const Part<values> (&row)[rows],
                           int row_warps, int heads, float* parts) {
    const auto [block, split, batch] = uint3(blockIdx);
    const int warp = static_cast<int>(threadIdx.x / 32);
    __syncthreads();
    for (int r = 0; r < rows; ++r) {
        row[r].write(all + (warp * rows + r) * part_floats);
    }
    __syncthreads();
    for (int r = warp; r < heads; r += warps) {
        Part<values> whole;
        for (int from = 0; from < warps / row_warps; ++from) {
            Part<values> other;
            other.read(all + (from * row_warps * rows + r) * part_floats);
            whole.merge(other);
        }
        const std::int64_t head = std::int64_t{block} * most_heads + r;
        if (parts == nullptr) {
            finish<__half>(a, static_cast<int>(batch), static_cast<int>(head), whole);
        } else {
            whole.write(part_at<latent>(parts, a, batch, head, split));
        }
    }
}

namespace {

// Grid: x over blocks of heads, y over splits, z batch. `rows` is what a warp holds; `row_warps`
// warps share a key, and each sees other heads.
template <int rows>
__global__ void __launch_bounds__(threads, 1)
    partial(const __grid_constant__ AttentionArgs a, int row_warps, int keys_per_split,
            float* parts) {
    extern __shared__ uint4 memory[];
    const auto [block, split, batch] = uint3(blockIdx);
    const int warp = static_cast<int>(threadIdx.x / 32);
    const int row_warp = warp % row_warps;
    const int key_warp = warp / row_warps;
    const int key_warps = warps / row_warps;
    const int first_head = static_cast<int>(block) * most_heads;
    const int heads = min(most_heads, a.heads_q - first_head);
    auto* tile = reinterpret_cast<__half*>(memory);
    const paged::Pages pages = paged::pages_of(a, batch);
    const int length = paged::length_of(a, batch);
    float q[rows][slice];
    for (int r = 0; r < rows; ++r) {
        // A row past the last head is computed for nothing and not written.
        const std::int64_t head = first_head + min(row_warp * rows + r, heads - 1);
        load_slice(row_at<__half>(a.q, batch, head), q[r]);
    }

    Part<values> row[rows];
    const int first = static_cast<int>(split) * keys_per_split;
    const int last = min(first + keys_per_split, length);
    for (int at = first; at < last; at += tile_keys) {
        const int keys = min(tile_keys, last - at);
        __syncthreads();  // the tile before is consumed
        stage(tile, a.k, pages, at, keys);
        __syncthreads();
#pragma unroll 1
        for (int key = key_warp; key < keys; key += key_warps) {
            float k[slice];
            float score[rows] = {};
            load_slice(tile + key * width, k);
            for (int r = 0; r < rows; ++r) {
                for (int i = 0; i < slice; ++i) {
                    score[r] = fmaf(q[r][i], k[i], score[r]);
                }
            }
            Part<values> one{.sum = 1};
            for (int i = 0; i < values; ++i) {
                one.out[i] = k[i];
            }
            for (int r = 0; r < rows; ++r) {
                one.highest = sum_over_warp(score[r]) * (a.scale * log2_e);
                row[r].merge(one);
            }
        }
    }
    write_rows(a, reinterpret_cast<float*>(memory), row, row_warps, heads, parts);
}

}  // namespace
static_assert(4 * warps * most_rows * part_floats <= stage_bytes);

void launch(const AttentionArgs& a, int tile, const Device& device, void* workspace, void* stream) {
    const Launch call = cut("mla", a, layout_of, tiles.at(tile), device, workspace, stream);
    call.check_tensors(false);
    const Packing packing = packing_of(a.heads_q);
    const dim3 grid(static_cast<unsigned>(call.plan.groups / a.batch),
                    static_cast<unsigned>(call.plan.splits), a.batch);
    with_value<1, 2, 4>(packing.rows, [&](auto rows) {
        call.enqueue(partial<rows()>, merge<__half, latent, warps, 2, 0>, grid, threads,
                     packing.row_warps);
    });
}

}  // namespace raceline::kernels::mla
