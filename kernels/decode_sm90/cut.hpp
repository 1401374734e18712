// SPDX-License-Identifier: Apache-2.0
// How a call is cut up, as its launch does it or the device where lengths differ: for its counts.
#pragma once

#include <cstdint>

#include "kernels/decode_sm90/params.hpp"

namespace raceline::kernels::decode_sm90 {

struct Cut {
    double parts = 1;    ///< that there are
    double longest = 0;  ///< blocks of the one that takes longest
    double ends = 1;     ///< units that end in that one
    double of_warp =
        0;  ///< blocks of its busiest warps, which share those of one unit after another
    double split_units = 0;   ///< units of several parts
    double most_of_unit = 0;  ///< parts of one of these, at most
};

/// What all units hold, and how many there are.
struct Totals {
    std::int64_t units = 0, blocks = 0;
    double row_tiles = 1;  ///< times that a key is read, in the mean
};

Totals totals_of(const Workload& workload, const Tile& tile);
Cut cut_of(const Workload& workload, const Tile& tile, const Device& device);

}  // namespace raceline::kernels::decode_sm90
