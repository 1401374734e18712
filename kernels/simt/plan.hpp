// SPDX-License-Identifier: Apache-2.0
// How a call is cut into CTAs: the same answer for the workspace query, the counts and the launch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/device.hpp"
#include "kernels/simt/tile.hpp"
#include "workload/attention_args.hpp"
#include "workload/workload.hpp"

namespace raceline::kernels::simt {

/// What a workload and the arguments of a launch have in common.
struct Shape {
    std::int64_t batch, heads_q, heads_kv, seqlen_q, seqlen_k;  ///< lengths: the longest
    std::int32_t headdim, headdim_v;
    std::int64_t left, right;  ///< causal folded in; negative: unbounded
    bool shared_kv;            ///< V is the first columns of K
    [[nodiscard]] std::int64_t group() const { return heads_kv > 0 ? heads_q / heads_kv : 0; }
};
Shape shape_of(const Workload& workload);
Shape shape_of(const AttentionArgs& args);

struct Plan {
    int v_width;     ///< compiled width of V, 0 if headdim_v is over the widest
    int depth;       ///< headdim padded to 16
    int pitch;       ///< of Q and K in shared memory, floats; an odd number of 16-byte units
    bool shared_kv;  ///< V is read from K's tile
    std::int64_t smem_bytes;
    std::int64_t row_tiles;
    std::int64_t splits;
    std::int64_t ctas;
    std::int64_t total_rows;  ///< batch × longest seqlen_q × heads_q
    int partial_width;        ///< floats of one partial output row
    std::size_t workspace_bytes;
};
Plan make_plan(const Shape& shape, const Tile& tile, const Device& device);

}  // namespace raceline::kernels::simt
