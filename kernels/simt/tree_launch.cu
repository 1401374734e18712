// SPDX-License-Identifier: Apache-2.0
// What the registry calls of simt_tree.
#include <cstddef>

#include "kernels/simt/launch.hpp"
#include "kernels/simt/tree_instances.hpp"
#include "registry/enqueue.cuh"
#include "workload/attention_call.hpp"

namespace raceline::kernels::simt_tree {

void launch(const AttentionCall& call, int tile, const Device& device, void* workspace,
            void* stream) {
    const Tile& shape = tiles.at(static_cast<std::size_t>(tile));
    const simt::Plan plan = simt::make_plan(problem_of(call), shape, device, declared_registers);
    if (plan.ctas == 0) {
        return;  // no query anywhere: nothing to write
    }
    const simt::TreeParams params{simt::make_params(call, plan, workspace), call.tree};
    launch_instance<Instances>(tile, simt::Instances::variant(plan.v_width), params,
                               {dim3(static_cast<unsigned>(plan.ctas)), shape.threads,
                                static_cast<std::size_t>(plan.smem_bytes), stream});
    simt::launch_merge(params, stream);
}

}  // namespace raceline::kernels::simt_tree
