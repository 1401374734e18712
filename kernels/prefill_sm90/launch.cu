// SPDX-License-Identifier: Apache-2.0
// What the registry calls: fills the kernel's parameters and enqueues one launch.
#include <algorithm>
#include <cuda_runtime.h>
#include <string>

#include "kernels/prefill_sm90/dispatch.hpp"
#include "kernels/prefill_sm90/plan.hpp"
#include "kernels/prefill_sm90/tensor_map.cuh"
#include "raceline/error.hpp"

namespace raceline::kernels::prefill_sm90 {
namespace {

constexpr float log2_of_e = 1.4426950408889634F;

// What the maps cover: all tokens of a packed tensor are one sequence. One without tokens is
// mapped as one token, which no item reads.
TensorExtent extent_of(std::int64_t headdim, std::int64_t heads, const void* packed,
                       std::int64_t tokens, const AttentionArgs& a, std::int64_t seqlen) {
    const std::int64_t length = packed != nullptr ? tokens : seqlen;
    return {headdim, std::max<std::int64_t>(1, length), heads, packed != nullptr ? 1 : a.batch};
}

bool chunked(const TensorArg& out, const AttentionArgs& a) {
    constexpr std::int64_t piece = 8;  // elements of 16 bytes
    return reinterpret_cast<std::uintptr_t>(out.data) % 16 == 0 && out.batch_stride % piece == 0 &&
           out.seq_stride % piece == 0 && out.head_stride % piece == 0 && a.headdim_v % piece == 0;
}

Params make_params(const AttentionArgs& a, const Plan& plan, const Tile& tile) {
    const bool bf16 = a.dtype == DType::bf16;
    const TensorExtent q =
        extent_of(a.headdim, a.heads_q, a.cu_seqlens_q, a.tokens_q, a, a.seqlen_q);
    const TensorExtent k =
        extent_of(a.headdim, a.heads_kv, a.cu_seqlens_k, a.tokens_k, a, a.seqlen_k);
    TensorExtent v = k;
    v.headdim = a.headdim_v;
    Params p{};
    p.args = a;
    p.band = plan.band;
    p.order = plan.order;
    p.by_heads = Divider(a.heads_q);
    p.by_group = Divider(a.heads_q / a.heads_kv);
    const bool capped = a.softcap > 0;
    p.scale_log2 = (capped ? a.softcap : a.scale) * log2_of_e;
    p.cap_inner = capped ? a.scale / a.softcap : 0;
    p.chunked_out = chunked(a.out, a);
    // Without keys nothing is read; k and v may then point nowhere.
    p.by_hand = a.seqlen_k == 0 || !can_map(a.q, q) || !can_map(a.k, k) || !can_map(a.v, v);
    if (!p.by_hand) {
        p.q = make_tensor_map("q", a.q, q, 64, bf16);  // a warpgroup's rows
        p.k = make_tensor_map("k", a.k, k, tile.keys, bf16);
        p.v = make_tensor_map("v", a.v, v, tile.keys, bf16);
    }
    TensorExtent out = q;
    out.headdim = a.headdim_v;
    p.boxed_out = can_map(a.out, out);
    if (p.boxed_out) {
        p.out = make_tensor_map("out", a.out, out, 64, bf16);
    }
    return p;
}

template <bool bf16, bool capped>
void launch_plan(int tile, const Params& p, int ctas, void* stream) {
    switch (tiles.at(static_cast<std::size_t>(tile)).headdim) {
        case 64: return launch_headdim<64, bf16, capped>(tile, p, ctas, stream);
        case 128: return launch_headdim<128, bf16, capped>(tile, p, ctas, stream);
        case 192: return launch_headdim<192, bf16, capped>(tile, p, ctas, stream);
        case 256: return launch_headdim<256, bf16, capped>(tile, p, ctas, stream);
        default: throw Error(Status::internal, "prefill_sm90: a tile of a head dim without code");
    }
}

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device& device, void* workspace,
            void* stream) {
    const Tile& shape = tiles.at(static_cast<std::size_t>(tile));
    const Plan plan = make_plan(shape_of(args), shape, device);
    if (plan.ctas == 0) {
        return;  // no query anywhere: nothing to write
    }
    if (!(args.scale > 0)) {
        throw Error(Status::unsupported, "prefill_sm90: scale is " + std::to_string(args.scale) +
                                             "; it takes the largest product of a row for the "
                                             "largest score, so the scale must be positive");
    }
    if (args.softcap > 0 && !caps(shape)) {
        throw Error(Status::unsupported, "prefill_sm90: this tile has no code for a softcap");
    }
    Params params = make_params(args, plan, shape);
    if (plan.handed_out) {
        params.handed_out = static_cast<unsigned*>(workspace);
        const cudaError_t status =
            cudaMemsetAsync(workspace, 0, sizeof(unsigned), static_cast<cudaStream_t>(stream));
        if (status != cudaSuccess) {
            throw Error(Status::internal, std::string("prefill_sm90: clearing a counter failed: ") +
                                              cudaGetErrorString(status));
        }
    }
    const auto enqueue =
        args.dtype == DType::bf16
            ? (args.softcap > 0 ? launch_plan<true, true> : launch_plan<true, false>)
            : (args.softcap > 0 ? launch_plan<false, true> : launch_plan<false, false>);
    enqueue(tile, params, plan.ctas, stream);
}

}  // namespace raceline::kernels::prefill_sm90
