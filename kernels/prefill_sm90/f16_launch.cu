// SPDX-License-Identifier: Apache-2.0
// What the registry calls: fills the kernel's parameters and enqueues one launch.
#include "kernels/prefill_sm90/counts.hpp"
#include "kernels/prefill_sm90/launch.cuh"
#include "kernels/prefill_sm90/params.cuh"
#include "registry/launch_args.hpp"

namespace raceline::kernels::prefill_sm90 {
namespace {

Params make_params(const AttentionArgs& a, const schedule::Plan& plan, const Tile& tile) {
    if (a.softcap > 0 && !caps(tile)) {
        throw Error(Status::unsupported, "prefill_sm90: this tile has no code for a softcap");
    }
    const Elements type = a.dtype == DType::bf16 ? Elements::bf16 : Elements::fp16;
    const Extents of = extents_of(a);
    const ScoreScale scale = positive_score_scale("prefill_sm90", a);
    Params p{};
    set_call(p, a, plan);
    p.scale_log2 = scale.log2;
    p.cap_inner = scale.cap_inner;
    p.chunked_out = in_chunks(a.out, a.headdim_v, a.dtype);
    // Without keys nothing is read; k and v may then point nowhere.
    p.by_hand = a.seqlen_k == 0 || !can_map(a.q, of.q, type) || !can_map(a.k, of.k, type) ||
                !can_map(a.v, of.v, type);
    if (!p.by_hand) {
        p.q = make_tensor_map("q", a.q, of.q, {type, 128, 64});  // a warpgroup's rows
        p.k = make_tensor_map("k", a.k, of.k, {type, 128, tile.keys});
        p.v = make_tensor_map("v", a.v, of.v, {type, 128, tile.keys});
    }
    p.boxed_out = can_map(a.out, of.out, type);
    if (p.boxed_out) {
        p.out = make_tensor_map("out", a.out, of.out, {type, 128, 64});
    }
    return p;
}

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device& device, void* workspace,
            void* stream) {
    const Tile& shape = tiles.at(static_cast<std::size_t>(tile));
    const int variant = Instances::variant(args.dtype == DType::bf16, args.softcap > 0);
    launch_call<Instances>(
        tile, variant, shape, args, device, workspace, stream,
        [&](const schedule::Plan& plan) { return make_params(args, plan, shape); });
}

}  // namespace raceline::kernels::prefill_sm90
