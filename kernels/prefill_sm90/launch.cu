// SPDX-License-Identifier: Apache-2.0
// What the registry calls: fills the kernel's parameters and enqueues one launch.
#include <algorithm>
#include <string>

#include "kernels/prefill_sm90/dispatch.hpp"
#include "kernels/prefill_sm90/plan.hpp"
#include "kernels/prefill_sm90/tensor_map.hpp"
#include "raceline/error.hpp"

namespace raceline::kernels::prefill_sm90 {
namespace {

constexpr float log2_of_e = 1.4426950408889634F;

// A sequence without tokens is mapped as one token that no item reads.
TensorExtent extent_of(std::int64_t headdim, std::int64_t seqlen, std::int64_t heads,
                       std::int64_t batch) {
    return {headdim, std::max<std::int64_t>(1, seqlen), heads, batch};
}

bool chunked(const TensorArg& out, const AttentionArgs& a) {
    constexpr std::int64_t piece = 8;  // elements of 16 bytes
    return reinterpret_cast<std::uintptr_t>(out.data) % 16 == 0 && out.batch_stride % piece == 0 &&
           out.seq_stride % piece == 0 && out.head_stride % piece == 0 && a.headdim_v % piece == 0;
}

void require_mapped(const char* name, const TensorArg& tensor, const TensorExtent& extent) {
    const std::string reason = why_not_mapped(tensor, extent);
    if (!reason.empty()) {
        throw Error(Status::unsupported,
                    std::string("prefill_sm90 cannot read ") + name + ": " + reason);
    }
}

Params make_params(const AttentionArgs& a, const Plan& plan, const Tile& tile) {
    const bool bf16 = a.dtype == DType::bf16;
    const TensorExtent q = extent_of(a.headdim, a.seqlen_q, a.heads_q, a.batch);
    const TensorExtent k = extent_of(a.headdim, a.seqlen_k, a.heads_kv, a.batch);
    const TensorExtent v = extent_of(a.headdim_v, a.seqlen_k, a.heads_kv, a.batch);
    Params p{};
    p.args = a;
    p.band = plan.band;
    p.order = plan.order;
    p.group = a.heads_q / a.heads_kv;
    p.scale_log2 = a.scale * log2_of_e;
    p.chunked_out = chunked(a.out, a);
    require_mapped("q", a.q, q);
    p.q = make_tensor_map("q", a.q, q, tile.rows, bf16);
    if (a.seqlen_k > 0) {
        require_mapped("k", a.k, k);
        require_mapped("v", a.v, v);
        p.k = make_tensor_map("k", a.k, k, tile.keys, bf16);
        p.v = make_tensor_map("v", a.v, v, tile.keys, bf16);
    }
    return p;
}

template <bool bf16>
void launch_plan(int tile, const Params& p, int ctas, void* stream) {
    switch (tiles.at(static_cast<std::size_t>(tile)).headdim) {
        case 64: return launch_headdim<64, bf16>(tile, p, ctas, stream);
        case 128: return launch_headdim<128, bf16>(tile, p, ctas, stream);
        case 192: return launch_headdim<192, bf16>(tile, p, ctas, stream);
        case 256: return launch_headdim<256, bf16>(tile, p, ctas, stream);
        default: throw Error(Status::internal, "prefill_sm90: a tile of a head dim without code");
    }
}

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device& device, void* /*workspace*/,
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
    const Params params = make_params(args, plan, shape);
    if (args.dtype == DType::bf16) {
        launch_plan<true>(tile, params, plan.ctas, stream);
    } else {
        launch_plan<false>(tile, params, plan.ctas, stream);
    }
}

}  // namespace raceline::kernels::prefill_sm90
