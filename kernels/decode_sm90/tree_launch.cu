// SPDX-License-Identifier: Apache-2.0
// What the registry calls of decode_sm90_tree.
#include <cstddef>

#include "kernels/decode_sm90/tree_instances.hpp"
#include "registry/enqueue.cuh"
#include "workload/attention_call.hpp"

namespace raceline::kernels::decode_sm90_tree {

void launch(const AttentionCall& call, int tile, const Device& device, void* workspace,
            void* stream) {
    const Tile& shape = tiles.at(static_cast<std::size_t>(tile));
    const decode_sm90::Plan plan = decode_sm90::make_plan(shape, device);
    if (call.batch == 0 || call.heads_q == 0 || call.seqlen_q == 0) {
        return;  // no query anywhere: nothing to write
    }
    const decode_sm90::TreeParams params{decode_sm90::make_params(call, plan, shape, workspace),
                                         call.tree};
    launch_instance<Instances>(tile, Instances::variant(call.dtype == DType::bf16), params,
                               {dim3(static_cast<unsigned>(plan.ctas)), shape.threads(),
                                static_cast<std::size_t>(shape.shared_bytes()), stream});
}

}  // namespace raceline::kernels::decode_sm90_tree
