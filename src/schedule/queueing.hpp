// SPDX-License-Identifier: Apache-2.0
// How long the matrix warpgroups of a persistent forward kernel need for a block while they are in
// each other's way.
#pragma once

#include <algorithm>

#include "model/constant.hpp"

namespace raceline::schedule {

inline constexpr Constant waits_in_line = calibrated(
    "warpgroups.waits_in_line", 1,
    "the queueing model below was chosen among others with the times of prefill_sm90's tiles at "
    "hand "
    "(receipts/index.jsonl: the sweeps …-prefill_sm90-tiles-…)",
    0, "bounds that hold for any order of service: Denning and Buzen, operational analysis, 1978");
inline constexpr Constant issue_share =
    code("warpgroups.issue_share", 8.0 / 5,
         "who exponentiates takes three of eight issue slots: the loop of the softmax");

/// Clocks of one warpgroup's block: at the tensor cores, at the exponential units, at the issue
/// slots, and the rest, for which it needs nobody.
struct BlockClocks {
    double tensor = 0, exponentials = 0, issued = 0, alone = 0;
    double values = 0;  ///< of the tensor cores' clocks, those of products that are started before
                        ///< the exponentials and awaited behind them
};

/// From one block of a warpgroup to its next, where `warpgroups` share an SM: a closed queueing
/// network of as many warpgroups and three stations, solved by mean value analysis (Reiser and
/// Lavenberg, 1980). Exponentials and instructions of several warps go on side by side, each the
/// slower for it. Products go one after the other and always take the same time, so that of the one
/// under way half is left when the next comes. Whoever exponentiates takes three of eight issue
/// slots.
///
/// Who is alone finds the tensor cores free, and its values are multiplied under its exponentials.
/// Others' products are what stands there where there are others.
///
/// Without calibrated constants: the longer of what one warpgroup takes alone and what all take at
/// the busiest station, which no order of service can beat.
inline double shared_clocks(const BlockClocks& block, int warpgroups) {
    if (warpgroups == 1) {
        return block.alone + block.tensor + std::max(0.0, block.exponentials - block.values) +
               block.issued * issue_share;
    }
    if (waits_in_line == 0) {
        const double issue = block.issued * issue_share;
        return std::max(block.alone + block.tensor + block.exponentials + issue,
                        warpgroups * std::max({block.tensor, block.exponentials, issue}));
    }
    double at_tensor = 0, at_exponentials = 0, at_issue = 0, busy = 0;
    double cycle = 0;
    for (int n = 1; n <= warpgroups; ++n) {
        const double products = block.tensor * (1 + at_tensor - busy / 2);
        const double softmax = block.exponentials * (1 + at_exponentials);
        const double issue = block.issued * issue_share * (1 + at_issue);
        cycle = block.alone + products + softmax + issue;
        at_tensor = n * products / cycle;
        at_exponentials = n * softmax / cycle;
        at_issue = n * issue / cycle;
        busy = n * block.tensor / cycle;
    }
    return cycle;
}

/// What stands between two work tiles is instructions, of which each warp gets its share:
/// `warpgroups` of them need as many times as long as one.
inline double between_tiles(double alone, int warpgroups) {
    return alone * warpgroups;
}

}  // namespace raceline::schedule
