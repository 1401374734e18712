// SPDX-License-Identifier: Apache-2.0
// Second launch of a split call: one CTA a row brings the partial outputs of all splits to their
// common maximum. Warps take splits in turn, lanes take columns.
#include "kernels/simt/forward.cuh"
#include "registry/enqueue.cuh"

namespace raceline::kernels::simt {
namespace {

constexpr int merge_warps = 4;
constexpr int widest = 512;

__device__ __forceinline__ float warp_max(float x) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFU, x, lanes));
    }
    return x;
}
__device__ __forceinline__ float warp_sum(float x) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        x += __shfl_xor_sync(0xFFFFFFFFU, x, lanes);
    }
    return x;
}

__device__ __forceinline__ RowSum partial_sum(const Params& p, std::int64_t row, int split) {
    return reinterpret_cast<const RowSum*>(p.partial_sums)[split * p.total_rows + row];
}

/// Maximum and sum over the splits; every warp finds them for itself.
__device__ __forceinline__ RowSum total_of(const Params& p, std::int64_t row) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    RowSum total{-INFINITY, 0};
    for (int split = lane; split < p.splits; split += 32) {
        total.maximum = fmaxf(total.maximum, partial_sum(p, row, split).maximum);
    }
    total.maximum = warp_max(total.maximum);
    for (int split = lane; split < p.splits; split += 32) {
        const RowSum one = partial_sum(p, row, split);
        // A split without keys has maximum -inf; where all have, nothing is added at all.
        total.sum += one.maximum == -INFINITY ? 0.0F : one.sum * exp2f(one.maximum - total.maximum);
    }
    total.sum = warp_sum(total.sum);
    return marked(total);
}

/// Four columns summed over this warp's splits. A split without keys is not read.
__device__ __forceinline__ float4 weighted_sum(const Params& p, std::int64_t row, int column,
                                               float maximum) {
    float4 out = make_float4(0, 0, 0, 0);
#pragma unroll 4
    for (int split = static_cast<int>(threadIdx.x) / 32; split < p.splits; split += merge_warps) {
        const float own = partial_sum(p, row, split).maximum;
        if (own != -INFINITY) {
            const std::int64_t slot = split * p.total_rows + row;
            const auto* from =
                reinterpret_cast<const float4*>(p.partial_out + slot * p.partial_width + column);
            out = add_scaled(out, exp2f(own - maximum), *from);
        }
    }
    return out;
}

__global__ void __launch_bounds__(merge_warps * 32) merge(const __grid_constant__ Params p) {
    const AttentionArgs& a = p.args;
    __shared__ float4 part[merge_warps][widest / 4];
    const auto row = static_cast<std::int64_t>(blockIdx.x);
    const int head_q = static_cast<int>(row % a.heads_q);
    const int query = static_cast<int>(row / a.heads_q % a.seqlen_q);
    const int sequence = static_cast<int>(row / a.heads_q / a.seqlen_q);
    const int start_q = a.cu_seqlens_q != nullptr ? a.cu_seqlens_q[sequence] : 0;
    if (a.cu_seqlens_q != nullptr && query >= a.cu_seqlens_q[sequence + 1] - start_q) {
        return;  // a shorter sequence of a ragged batch; the whole CTA leaves together
    }
    const RowSum total = total_of(p, row);
    const int warp = static_cast<int>(threadIdx.x) / 32;
    for (int column = static_cast<int>(threadIdx.x % 32) * 4; column < a.headdim_v; column += 128) {
        part[warp][column / 4] = weighted_sum(p, row, column, total.maximum);
    }
    __syncthreads();

    const int scale_index = sequence * a.heads_kv + head_q / p.group;
    const float v_scale = a.v_scale != nullptr ? a.v_scale[scale_index] : 1.0F;
    const RowAddress to = row_address(p, sequence, start_q, query, head_q);
    const RowEnd end = end_row(a, total, head_q, v_scale);
    for (int column = static_cast<int>(threadIdx.x) * 4; column < a.headdim_v;
         column += merge_warps * 128) {
        float4 out = part[0][column / 4];
        for (int w = 1; w < merge_warps; ++w) {
            out = add_scaled(out, 1.0F, part[w][column / 4]);
        }
        store_quad(p, to, column, scaled(out, end.factor));
    }
    if (threadIdx.x == 0 && a.lse != nullptr) {
        a.lse[to.lse] = end.lse;
    }
}

}  // namespace

void launch_merge(const Params& params, void* stream) {
    enqueue("simt's merge", merge,
            {dim3(static_cast<unsigned>(params.total_rows)), merge_warps * 32, 0, stream}, params);
}

}  // namespace raceline::kernels::simt
