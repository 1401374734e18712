// SPDX-License-Identifier: Apache-2.0
// How a call is split into CTAs, the same answer for the workspace query, the counts and the
// launch; and what its launches do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/device.hpp"
#include "kernels/simt/tile.hpp"
#include "model/constant.hpp"
#include "model/counts.hpp"
#include "workload/problem.hpp"
#include "workload/workload.hpp"

namespace raceline::kernels::simt {

struct Plan {
    int v_width;     ///< compiled width of V, 0 if headdim_v is over the widest
    int registers;   ///< of a thread of the main launch
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
/// `registers`: of a tile and width as its record declares them, declared_registers.
using Registers = int (*)(const Tile& tile, int v_width);
Plan make_plan(const Problem& problem, const Tile& tile, const Device& device,
               Registers registers = declared_registers);
/// Of the record that takes the workload: simt, or with a tree simt_tree.
Plan make_plan(const Workload& workload, const Tile& tile, const Device& device);

inline constexpr int merge_registers = static_cast<int>(counted(48, "the compiler's report"));

std::vector<Counts> counts(const Workload& workload, const Tile& tile, const Device& device);

}  // namespace raceline::kernels::simt
