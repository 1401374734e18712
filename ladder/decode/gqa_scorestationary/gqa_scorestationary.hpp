// SPDX-License-Identifier: Apache-2.0
// gqa_scorestationary's CTAs, for host and device, and what the rungs with other caches change.
#pragma once

#include <string>

#include "ladder/decode/counts.hpp"
#include "ladder/decode/plan.hpp"
#include "ladder/decode/reasons.hpp"

namespace raceline::kernels::gqa_scorestationary {

/// Keys of a tile: at head dim 128 one block of 32 for each of the four warps.
constexpr int tile_keys(int headdim) {
    return 128 * 128 / headdim;
}
/// Halves from row to row of K: 16 bytes more, so that 32 lanes read 32 rows without a conflict.
constexpr int pitch_of(int headdim) {
    return headdim + 8;
}

/// K and V, the warps' probabilities, the rows of Q as floats.
constexpr decode::Layout layout_of(const decode::Call& call) {
    const decode::Packing p = decode::packing_of(call.group());
    const std::int64_t d = call.headdim, warp_rows = std::int64_t{decode::warps} * p.rows,
                       q_rows = std::int64_t{p.rows} * p.row_warps;
    return {.cta_rows = call.group(),
            .smem_bytes = std::int64_t{2} * tile_keys(call.headdim) * (pitch_of(call.headdim) + d) +
                          4 * (warp_rows * 32 + q_rows * d),
            .columns = call.headdim};
}

/// What stands against a call with Q in fp16, and K and V in this type.
template <DType cache>
std::string reason(const Workload& w, const decode::Plan& plan, const Device& device) {
    using namespace decode;
    const std::string types =
        cache == DType::fp16
            ? all_halves(w)
            : other_types(w, w.dtype == DType::fp16 && w.kv_dtype == cache,
                          std::string("Q in fp16 and K and V in ") + name_of(cache));
    return first_of({other_calls(w, device, types), too_wide(w), too_many_keys(w),
                     no_room(plan, device, "it"), too_many_ctas(w, plan)});
}

decode::Form form_of(const Workload& w);

}  // namespace raceline::kernels::gqa_scorestationary
