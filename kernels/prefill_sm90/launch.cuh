// SPDX-License-Identifier: Apache-2.0
// What launches of both types do alike: tensor maps for the copy engine, and what can be said of a
// tensor before they are made; the parameters that both have.
#pragma once

#include <cstdint>
#include <cuda.h>
#include <cuda_runtime.h>
#include <string>

#include "kernels/prefill_sm90/counts.hpp"
#include "registry/enqueue.cuh"
#include "registry/instances.hpp"
#include "schedule/plan.hpp"
#include "workload/attention_args.hpp"

namespace raceline::kernels::hopper {

/// What the maps cover, each at least 1.
struct TensorExtent {
    std::int64_t headdim, seqlen, heads, batch;
};
/// Types of elements that are copied.
enum class Elements : std::int32_t { fp16, bf16, e4m3 };
constexpr std::int64_t bytes_of(Elements type) {
    return type == Elements::e4m3 ? 1 : 2;
}

/// Whether the copy engine can read this: address and strides are multiples of 16 bytes.
bool can_map(const TensorArg& tensor, const TensorExtent& extent, Elements type);

/// What one copy brings: rows of tokens, `row_bytes` (64 or 128) of each, swizzled over as many.
struct Boxes {
    Elements type;
    int row_bytes, rows;
};
/// Dimensions (column, token, head, sequence); zeros outside. Throws Error(internal) if the driver
/// refuses. Enqueues nothing, so that it may run while a stream is being captured.
CUtensorMap make_tensor_map(const char* name, const TensorArg& tensor, const TensorExtent& extent,
                            const Boxes& boxes);

/// Of a call's tensors. All tokens of a packed tensor are one sequence. One without tokens is
/// mapped as one token, which no work tile reads.
struct Extents {
    TensorExtent q, k, v, out;
};
Extents extents_of(const AttentionArgs& args);

/// What the parameters of both types have, but for maps and scales.
template <class Params>
void set_call(Params& p, const AttentionArgs& a, const schedule::Plan& plan) {
    p.args = a;
    p.band = plan.band;
    p.order = plan.order;
    p.by_heads = schedule::Divider(a.heads_q);
    p.by_group = schedule::Divider(a.heads_q / a.heads_kv);
}

/// Enqueues the main launch, behind the clearing of the counter at the start of the workspace if
/// work tiles are drawn from it.
template <class Instances, class Tile>
void enqueue_plan(int index, int variant, const Tile& tile, typename Instances::Params params,
                  const schedule::Plan& plan, void* workspace, void* stream) {
    if (plan.handed_out) {
        params.handed_out = static_cast<unsigned*>(workspace);
        check_cuda(
            cudaMemsetAsync(workspace, 0, sizeof(unsigned), static_cast<cudaStream_t>(stream)),
            std::string(Instances::engine) + ": clearing a counter");
    }
    launch_instance<Instances>(index, variant, params,
                               {dim3(static_cast<unsigned>(plan.ctas)), tile.threads(),
                                static_cast<std::size_t>(shared_bytes(tile)), stream});
}

/// The main launch of a call. `params_of(plan)`: what its code gets; it may enqueue a launch
/// that comes before. Nothing is asked of it, and nothing enqueued, if there is no query anywhere.
template <class Instances, class Tile, class ParamsOf>
void launch_call(int index, int variant, const Tile& tile, const AttentionArgs& args,
                 const Device& device, void* workspace, void* stream, const ParamsOf& params_of) {
    const schedule::Plan plan = make_plan(problem_of(args), tile, device);
    if (plan.ctas > 0) {
        enqueue_plan<Instances>(index, variant, tile, params_of(plan), plan, workspace, stream);
    }
}

}  // namespace raceline::kernels::hopper
