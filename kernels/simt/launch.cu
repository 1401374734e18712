// SPDX-License-Identifier: Apache-2.0
// What the registry calls: cuts the call up, fills the kernel's parameters, enqueues one launch, or
// two where the keys are split.
#include <bit>
#include <string>

#include "kernels/simt/forward.cuh"
#include "kernels/simt/launch.hpp"
#include "raceline/error.hpp"
#include "registry/enqueue.cuh"
#include "registry/launch_args.hpp"

namespace raceline::kernels::simt {
namespace {

// Second launch of a split call: one CTA a row brings the partial outputs of all splits to their
// common maximum. Warps take splits in turn, lanes take columns.

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

Params make_params(const AttentionArgs& args, const Plan& plan, void* workspace) {
    if (plan.v_width == 0) {
        throw Error(Status::unsupported,
                    "simt: headdim_v " + std::to_string(args.headdim_v) + " is over 512");
    }
    Params p{};
    p.args = args;
    p.total_rows = plan.total_rows;
    p.partial_width = plan.partial_width;
    p.row_tiles = static_cast<std::int32_t>(plan.row_tiles);
    p.splits = static_cast<std::int32_t>(plan.splits);
    p.group = args.heads_q / args.heads_kv;
    p.depth = plan.depth;
    p.pitch = plan.pitch;
    p.shared_kv = plan.shared_kv;
    const auto page = static_cast<unsigned>(args.page_size);
    p.page_shift = std::has_single_bit(page) ? std::countr_zero(page) : -1;
    p.chunked_q = in_chunks(args.q, args.headdim, args.dtype);
    p.chunked_k = in_chunks(args.k, args.headdim, args.kv_dtype);
    p.chunked_v = in_chunks(args.v, args.headdim_v, args.kv_dtype);
    p.chunked_out = in_chunks(args.out, args.headdim_v, args.dtype,
                              4 * static_cast<std::int64_t>(bytes_of(args.dtype)));
    if (plan.splits > 1) {
        const auto address = (reinterpret_cast<std::uintptr_t>(workspace) + 15) / 16 * 16;
        p.partial_out = reinterpret_cast<float*>(address);
        p.partial_sums = p.partial_out + plan.splits * plan.total_rows * plan.partial_width;
    }
    return p;
}

void launch_merge(const Params& params, void* stream) {
    if (params.splits > 1) {
        enqueue("simt's merge", merge,
                {dim3(static_cast<unsigned>(params.total_rows)), merge_warps * 32, 0, stream},
                params);
    }
}

void launch(const AttentionArgs& args, int tile, const Device& device, void* workspace,
            void* stream) {
    const Plan plan = make_plan(problem_of(args), tiles.at(static_cast<std::size_t>(tile)), device);
    if (plan.ctas == 0) {
        return;  // no query anywhere: nothing to write
    }
    const Params params = make_params(args, plan, workspace);
    launch_instance<Instances>(
        tile, Instances::variant(plan.v_width), params,
        {dim3(static_cast<unsigned>(plan.ctas)), tiles.at(static_cast<std::size_t>(tile)).threads,
         static_cast<std::size_t>(plan.smem_bytes), stream});
    launch_merge(params, stream);
}

}  // namespace raceline::kernels::simt
