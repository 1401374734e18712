// SPDX-License-Identifier: Apache-2.0
// splitkv's CTAs, for host and device.
#pragma once

#include "ladder/decode/counts.hpp"
#include "ladder/decode/plan.hpp"

namespace raceline::kernels::splitkv {

/// A row, of whose keys every warp takes a share.
constexpr decode::Layout layout_of(const decode::Call& call) {
    return {.cta_rows = 1, .smem_bytes = decode::stage_bytes, .columns = call.headdim};
}

decode::Form form_of(const Workload& w);

}  // namespace raceline::kernels::splitkv
