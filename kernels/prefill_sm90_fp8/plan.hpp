// SPDX-License-Identifier: Apache-2.0
// How a call is cut into items and CTAs: the same answer for the counts and the launch.
#pragma once

#include <cstdint>

#include "device/device.hpp"
#include "kernels/prefill_sm90_fp8/schedule.hpp"
#include "kernels/prefill_sm90_fp8/tile.hpp"
#include "workload/attention_args.hpp"
#include "workload/workload.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

/// What a workload and the arguments of a launch have in common.
struct Shape {
    std::int64_t batch, heads_q, heads_kv, seqlen_q, seqlen_k, headdim, headdim_v;
    std::int64_t left, right;  ///< causal folded in; negative: unbounded
    bool uneven;               ///< items may differ in their number of keys
    [[nodiscard]] std::int64_t group() const { return heads_kv > 0 ? heads_q / heads_kv : 1; }
};
Shape shape_of(const Workload& workload);
Shape shape_of(const AttentionArgs& args);

struct Plan {
    Band band;
    Order order;
    std::int32_t ctas;  ///< 0: there is no query anywhere
    /// A CTA that is done takes the next item, instead of a share fixed beforehand: needs a counter
    /// in the workspace.
    bool handed_out;
};
/// Of every call: whether lengths differ may be known on the device only.
inline constexpr std::size_t workspace_bytes = 64;
/// Lengths at most longest_length, items() at most most_items.
Plan make_plan(const Shape& shape, const Tile& tile, const Device& device);

inline constexpr std::int64_t longest_length = 1 << 29;  // sums of two lengths stay in 31 bits
inline constexpr std::int64_t most_items = (std::int64_t{1} << 31) - 1;
std::int64_t item_count(const Shape& shape, const Tile& tile);

}  // namespace raceline::kernels::prefill_sm90_fp8
