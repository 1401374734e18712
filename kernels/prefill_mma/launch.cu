// SPDX-License-Identifier: Apache-2.0
// What the registry calls: fills the kernel's parameters and enqueues one launch.
#include "kernels/prefill_mma/params.hpp"
#include "registry/enqueue.cuh"
#include "registry/launch_args.hpp"

namespace raceline::kernels::prefill_mma {
namespace {

bool by_hand(const AttentionArgs& a) {
    return !in_chunks(a.q, a.headdim, a.dtype) || !in_chunks(a.k, a.headdim, a.dtype) ||
           !in_chunks(a.v, a.headdim_v, a.dtype) || !in_chunks(a.out, a.headdim_v, a.dtype);
}

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device& device, void* /*workspace*/,
            void* stream) {
    const int used = by_hand(args) ? by_hand_tile(tile) : tile;
    const Plan plan = make_plan(problem_of(args), tiles.at(static_cast<std::size_t>(used)), device);
    if (plan.order.work_tiles() == 0) {
        return;  // no query anywhere: nothing to write
    }
    const ScoreScale scale = positive_score_scale("prefill_mma", args);
    const Params params{args,       plan.band,       plan.order,   args.heads_q / args.heads_kv,
                        scale.log2, scale.cap_inner, by_hand(args)};
    const Tile& shape = tiles.at(static_cast<std::size_t>(used));
    launch_instance<Instances>(
        used, Instances::variant(args.dtype == DType::bf16, params.by_hand), params,
        {dim3(static_cast<unsigned>(plan.order.work_tiles())), shape.threads(),
         static_cast<std::size_t>(shared_bytes(shape)), stream});
}

}  // namespace raceline::kernels::prefill_mma
