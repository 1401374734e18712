// SPDX-License-Identifier: Apache-2.0
// What the registry calls: cuts the call up, fills the kernel's parameters, enqueues one launch, or
// two where the keys are split.
#include <bit>
#include <string>

#include "kernels/simt/instances.hpp"
#include "kernels/simt/plan.hpp"
#include "raceline/error.hpp"
#include "registry/enqueue.cuh"
#include "registry/launch_args.hpp"

namespace raceline::kernels::simt {
namespace {

Params make_params(const AttentionArgs& args, const Plan& plan, void* workspace) {
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

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device& device, void* workspace,
            void* stream) {
    const Plan plan = make_plan(problem_of(args), tiles.at(static_cast<std::size_t>(tile)), device);
    if (plan.ctas == 0) {
        return;  // no query anywhere: nothing to write
    }
    if (plan.v_width == 0) {
        throw Error(Status::unsupported,
                    "simt: headdim_v " + std::to_string(args.headdim_v) + " is over 512");
    }
    const Params params = make_params(args, plan, workspace);
    launch_instance<Instances>(
        tile, Instances::variant(plan.v_width), params,
        {dim3(static_cast<unsigned>(plan.ctas)), tiles.at(static_cast<std::size_t>(tile)).threads,
         static_cast<std::size_t>(plan.smem_bytes), stream});
    if (plan.splits > 1) {
        launch_merge(params, stream);
    }
}

}  // namespace raceline::kernels::simt
