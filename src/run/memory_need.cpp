// SPDX-License-Identifier: Apache-2.0
#include "run/memory_need.hpp"

#include "run/call_caveats.hpp"
#include "workload/operation.hpp"

namespace raceline {
namespace {

// Of the whole cache, also of what a window hides, with the slot that each token has in it.
double attention_inputs(const Workload& w) {
    const double row =
        bytes_of(w.kv_dtype) * static_cast<double>(w.mla ? w.headdim : w.headdim + w.headdim_v);
    return w.bytes_q() + static_cast<double>(w.tokens_k()) *
                             (sizeof(std::int64_t) + static_cast<double>(w.heads_kv) * row);
}

}  // namespace

double memory_of_tensors(const Workload& workload, const Device& device) {
    const double inputs =
        workload.is_attention() ? attention_inputs(workload) : bytes_of_inputs(workload);
    const double outputs =
        workload.is_attention() ? workload.bytes_out() : bytes_of_outputs(workload);
    const double kept = device.kind == DeviceKind::cpu ? 2 : 1;
    return kept * inputs + outputs;
}

double memory_needed(const Kernel& kernel, int tile, const Workload& workload,
                     const Device& device) {
    return memory_of_tensors(workload, device) +
           static_cast<double>(kernel.workspace(workload, tile, device));
}

std::string why_too_large(const Kernel& kernel, int tile, const Workload& workload,
                          const Device& device) {
    return why_too_large(memory_needed(kernel, tile, workload, device), device);
}

}  // namespace raceline
