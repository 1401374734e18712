// SPDX-License-Identifier: Apache-2.0
// gqa's CTAs, for host and device, and its main launch, for the rungs that change it.
#pragma once

#include <string>

#include "ladder/decode/counts.hpp"
#include "ladder/decode/plan.hpp"

namespace raceline::kernels::gqa {

/// The rows of a group.
constexpr decode::Layout layout_of(const decode::Call& call) {
    return {.cta_rows = call.group(), .smem_bytes = decode::stage_bytes, .columns = call.headdim};
}

std::string reason(const Workload& w, const decode::Plan& plan, const Device& device);

decode::Form form_of(const Workload& w);

}  // namespace raceline::kernels::gqa
