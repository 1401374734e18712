// SPDX-License-Identifier: Apache-2.0
// What the registry calls: fills the kernel's parameters and enqueues one launch.
#include <string>

#include "kernels/prefill_mma/dispatch.hpp"
#include "kernels/prefill_mma/plan.hpp"
#include "raceline/error.hpp"

namespace raceline::kernels::prefill_mma {
namespace {

constexpr float log2_of_e = 1.4426950408889634F;

bool chunked(const TensorArg& tensor, std::int64_t headdim) {
    constexpr std::int64_t piece = 8;  // elements of 16 bytes
    return reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0 &&
           tensor.batch_stride % piece == 0 && tensor.seq_stride % piece == 0 &&
           tensor.head_stride % piece == 0 && headdim % piece == 0;
}

bool by_hand(const AttentionArgs& a) {
    return !chunked(a.q, a.headdim) || !chunked(a.k, a.headdim) || !chunked(a.v, a.headdim_v) ||
           !chunked(a.out, a.headdim_v);
}

Params make_params(const AttentionArgs& a, const Plan& plan) {
    const bool capped = a.softcap > 0;
    Params p{};
    p.args = a;
    p.band = plan.band;
    p.order = plan.order;
    p.group = a.heads_q / a.heads_kv;
    p.scale_log2 = (capped ? a.softcap : a.scale) * log2_of_e;
    p.cap_inner = capped ? a.scale / a.softcap : 0;
    p.by_hand = by_hand(a);
    return p;
}

template <bool bf16>
void launch_plan(int tile, const Params& p, int ctas, void* stream) {
    switch (tiles.at(static_cast<std::size_t>(tile)).headdim) {
        case 64: return launch_headdim<64, bf16>(tile, p, ctas, stream);
        case 128: return launch_headdim<128, bf16>(tile, p, ctas, stream);
        case 192: return launch_headdim<192, bf16>(tile, p, ctas, stream);
        case 256: return launch_headdim<256, bf16>(tile, p, ctas, stream);
        default: throw Error(Status::internal, "prefill_mma: a tile of a head dim without code");
    }
}

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device& device, void* /*workspace*/,
            void* stream) {
    const int used = by_hand(args) ? by_hand_tile(tile) : tile;
    const Plan plan = make_plan(shape_of(args), tiles.at(static_cast<std::size_t>(used)), device);
    if (plan.order.items() == 0) {
        return;  // no query anywhere: nothing to write
    }
    if (!(args.scale > 0)) {
        throw Error(Status::unsupported, "prefill_mma: scale is " + std::to_string(args.scale) +
                                             "; it takes the largest product of a row for the "
                                             "largest score, so the scale must be positive");
    }
    const Params params = make_params(args, plan);
    if (args.dtype == DType::bf16) {
        launch_plan<true>(used, params, plan.order.items(), stream);
    } else {
        launch_plan<false>(used, params, plan.order.items(), stream);
    }
}

}  // namespace raceline::kernels::prefill_mma
